"""Scenarios on two Ray nodes of this machine: `python -m tests.gpu_engine.multigpu.cluster.ray_scenarios FOLDER`.

Runs in a process of its own: the tests of the queue have a Ray of theirs, and a process has but one.
"""

import itertools
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.multigpu.cluster import ClusterMatrix
from gpu_engine.multigpu.placement import DeviceSlot, find_places
from gpu_engine.multigpu.virtual import VirtualDevice
from tests.gpu_engine.multigpu.cluster.ray_nodes import ray_nodes

HOSTS = ("a", "b")
PATIENCE_S = 120.0


SCENARIOS = ("iterated", "large", "killed", "killed_and_continued", "node")
"""Methods of Scenarios, in their order."""


class HeldDevice(VirtualDevice):
    """Waits for ever before it launches one of its products, and writes its process to a file."""

    held: int
    file: Path

    def __init__(self, name: str, node: int = 0) -> None:
        super().__init__(name, node)
        self.products = itertools.count(1)

    def call(self, function: Any, *arguments: Any) -> None:
        if function is self.operations.multiply and next(self.products) == self.held:
            written = self.file.with_suffix(".part")
            written.write_text(str(os.getpid()))
            written.rename(self.file)
            threading.Event().wait()
        super().call(function, *arguments)


def open_held(name: str, place: DeviceSlot, product: int, file: Path) -> VirtualDevice:
    """A device that is held if it is that of the place."""
    import ray

    if (name, ray.get_runtime_context().get_node_id()) != (place.device, place.node):
        return VirtualDevice(name)
    device = HeldDevice(name)
    device.held, device.file = product, file
    return device


class Scenarios:
    """Each yields what a test looks at; the last one ends a node."""

    def __init__(self, ray: Any, nodes: dict[str, Any], cluster: Any, folder: Path) -> None:
        self.ray, self.nodes, self.cluster, self.folder = ray, nodes, cluster, folder
        self.places = find_places(ray, "CPU")

    def told(self, matrix: ClusterMatrix) -> dict[str, Any]:
        found = np.full(self.x("crossed").size, np.nan)
        matrix.read(found)
        losses = [(str(loss.place), loss.iteration, loss.resumed_from) for loss in matrix.losses]
        return {"found": found.tolist(), "losses": losses, "spans": [s.entries for s in matrix.actors.spans]}

    def x(self, name: str) -> Any:
        return np.load(self.folder / name / "x.npy")

    def iterated(self) -> dict[str, Any]:
        """Seven iterations in two goes, and three of another vector."""
        with ClusterMatrix(self.ray, self.folder / "crossed", self.places) as matrix:
            x = self.x("crossed")
            matrix.load(x)
            matrix.advance(3)
            matrix.advance(4)
            first = self.told(matrix)
            matrix.load(x[::-1].copy())
            matrix.advance(3)
            part_bytes = [part.n_bytes for part in matrix.actors.parts]
            return {"first": first, "second": self.told(matrix), "bytes": part_bytes}

    def large(self) -> dict[str, Any]:
        """Slices that go through the object store, from one node to the other."""
        with ClusterMatrix(self.ray, self.folder / "large", self.places[1:3], exchange="all-gather") as matrix:
            x = self.x("large")
            matrix.load(x)
            matrix.advance(2)
            matrix.read(x)
            np.save(self.folder / "large" / "found.npy", x)
            return {}

    def killed(self) -> dict[str, Any]:
        """Of a device on each node that of `b` is killed in the fourth iteration, after it has sent what it owns."""
        return self.held(self.places[1:3], "raise", False, 5, lambda pid: os.kill(pid, signal.SIGKILL))

    def killed_and_continued(self) -> dict[str, Any]:
        """There is another one on `b`; both wait for what the killed one has not sent before its local product."""
        return self.held(self.places[1:], "continue", True, 9, lambda pid: os.kill(pid, signal.SIGKILL))

    def node(self) -> dict[str, Any]:
        """The node `b` is killed while its first device is at the remote product of the fourth iteration."""
        end = partial(self.cluster.remove_node, self.nodes["b"], allow_graceful=False)
        return self.held(self.places[1:], "continue", True, 10, lambda _: end())

    def held(
        self, places: tuple[DeviceSlot, ...], on_loss: Any, overlap: bool, product: int, end: Callable[[int], None]
    ) -> dict[str, Any]:
        """Seven iterations, in one of whose products the second place is held until `end` has done what it does.

        product  counted from those of its blocks that load its part
        """
        file = Path(tempfile.mkdtemp(dir=self.folder)) / "held"
        ending = threading.Thread(target=lambda: end(_number_in(file)))
        ending.start()
        named = {"places": [str(place) for place in places]}
        open_device = partial(open_held, place=places[1], product=product, file=file)
        try:
            with ClusterMatrix(
                self.ray,
                self.folder / "crossed",
                places,
                overlap=overlap,
                on_loss=on_loss,
                checkpoint_every=2,
                open_device=open_device,
            ) as matrix:
                matrix.load(self.x("crossed"))
                try:
                    matrix.advance(7)
                except Exception as error:
                    return named | {"error": type(error).__name__, "message": str(error)}
                return named | self.told(matrix)
        finally:
            ending.join()


def _number_in(file: Path) -> int:
    """What is written to the file, as soon as it is there."""
    for _ in range(int(PATIENCE_S / 0.02)):
        if file.exists():
            return int(file.read_text())
        threading.Event().wait(0.02)
    raise TimeoutError(f"{file} is not there after {PATIENCE_S} s.")


def main(folder: Path, temporary: str) -> None:
    os.makedirs(f"{temporary}/ray")
    with ray_nodes(temporary, {name: {} for name in HOSTS}) as (cluster, nodes):
        import ray

        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.WARNING)
        scenarios = Scenarios(ray, nodes, cluster, folder)
        told: dict[str, Any] = {}
        for name in SCENARIOS:
            try:
                told[name] = getattr(scenarios, name)()
            except Exception:
                told[name] = {"traceback": traceback.format_exc()}
        (folder / "told.json").write_text(json.dumps(told))
        ray.shutdown()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as temporary:
        main(Path(sys.argv[1]), temporary)
