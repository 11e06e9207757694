"""Two Ray nodes of this machine and a dispatcher that has joined them: `python -m tests.server.cluster_worker`.

In a process of its own: the tests of the queue have a Ray of theirs, and a process has but one. It does what lines of
its input say: `kill` ends the node `b` at once, the end of the input ends everything.
"""

import dataclasses
import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_engine.host.device import list_devices
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.records import Measurement, Record
from gpu_engine.studies import STUDIES
from gpu_engine.studies.scaling import ScalingStudy
from server.db import Database
from server.jobs.dispatcher import Dispatcher
from server.jobs.engine import Engine
from server.settings import Settings
from tests.gpu_engine.multigpu.cluster.ray_nodes import ray_nodes
from tests.samples.studies import FAST

HOLD, HELD, MEASURED = "hold", "held", "measured"
"""Files in the home: whether a device is to be held, that it is, and that there is a measurement before it is."""

HELD_PRODUCT = 8
"""The product after a measurement that is held: loading a part takes the first two of them."""


class HeldDevice(VirtualDevice):
    """Waits for ever before one of the products that come after a measurement, if it is on the node `b`."""

    def __init__(self, name: str, node: int = 0) -> None:
        super().__init__(name, node)
        self.products = itertools.count(1)

    def call(self, function: Any, *arguments: Any) -> None:
        if function is self.operations.multiply and self._is_held():
            threading.Event().wait()
        super().call(function, *arguments)

    def _is_held(self) -> bool:
        home = Path(os.environ["SPARSIGHT_HOME"])
        held = (home / MEASURED).exists() and _node() == "b" and next(self.products) == HELD_PRODUCT
        if held:
            (home / HELD).touch()
        return held


class HeldStudy(ScalingStudy):
    """The study with such devices, where the file HOLD is there."""

    def run(self, params: Any, todo: Any, matrices: Any, bench: Any) -> Iterator[Record]:
        """Its records; a measurement is noted in the home."""
        home = Path(os.environ["SPARSIGHT_HOME"])
        # Nothing is to be learnt from the bandwidth of this machine, which takes long to measure.
        bench._profile = FAST
        if (home / HOLD).exists():
            bench.cluster = dataclasses.replace(bench.cluster, open_device=HeldDevice)
        for record in super().run(params, todo, matrices, bench):
            yield record
            if isinstance(record, Measurement) and (home / HOLD).exists():
                (home / MEASURED).touch()


def _node() -> str:
    import ray

    here, nodes = ray.get_runtime_context().get_node_id(), ray.nodes()  # type: ignore[no-untyped-call]
    return next(str(node["NodeName"]) for node in nodes if node["NodeID"] == here)


def main(temporary: str) -> None:
    with ray_nodes(temporary, {"a": {"cpu": 1}, "b": {}}) as (cluster, nodes):
        settings = Settings(ray_address=cluster.address)
        database, cpu = Database(settings.resolved_database_url), list_devices()[:1]
        engine = Engine(settings, cpu, Path(temporary) / "ray")
        studies = tuple(HeldStudy() if study.name == "scaling" else study for study in STUDIES)
        dispatcher = Dispatcher(settings, database, engine, cpu, studies, first_event_s=120.0)
        engine.start()
        dispatcher.offer()
        thread = threading.Thread(target=dispatcher.run)
        thread.start()
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(nodes["b"], allow_graceful=False)
        dispatcher.stop()
        thread.join()
        engine.stop()
        database.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as temporary:
        main(temporary)
