"""Iterated SpMV over the devices of several hosts, with one Ray actor per device.

No actor starts an iteration before all have ended the previous one, so that the iteration of a loss is known. After a
loss the other actors end too, because a transfer from a lost actor waits forever. New actors get larger partitions.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, cast

import numpy as np

from gpu_engine.errors import ConflictError, DeviceLostError, HostLostError, InputError, ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.actor_pool import CaseActors, Cluster, open_actor_pool, open_device
from gpu_engine.multigpu.cluster.product import ProductMember, open_stored
from gpu_engine.multigpu.cluster.transport import TransportName
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.placement import DeviceSlot

OUTSIDE = "No actors are running. Use the matrix inside a with statement, which starts and ends them."
"""Message for calls outside of the with statement."""

OnLoss = Literal["raise", "continue"]
"""Reaction to a lost device: raise an error, or continue with fewer devices."""


@dataclass(frozen=True, slots=True)
class DeviceLost:
    """Loss of a device.

    iteration     first incomplete iteration, counted from 1 since `load`
    resumed_from  iterations of the checkpoint from which the remaining devices continued
    """

    place: DeviceSlot
    iteration: int
    resumed_from: int


class ClusterMatrix:
    """Square matrix partitioned by rows over the devices of a cluster, with a vector on the same devices.

    Use it as a context manager. All hosts read the matrix at the same path, each device only its partition.

    iteration  iterations since `load`
    losses     lost devices in the order of the losses
    """

    def __init__(
        self,
        ray: Any,
        folder: Path,
        places: Sequence[DeviceSlot],
        *,
        exchange: ExchangeName = "halo",
        overlap: bool = True,
        transport: TransportName = "object-store",
        on_loss: OnLoss = "raise",
        checkpoint_every: int = 100,
        limit_s: float = 600.0,
        open_device: Callable[[str], Device] = open_device,
    ) -> None:
        """Check the matrix; the with statement starts the actors.

        ray               module `ray`, connected to a cluster
        folder            indptr.npy, indices.npy, values.npy, and meta.json of the matrix
        places            device slots, one per partition, grouped by host because neighbors exchange most
        overlap           multiply the diagonal block during the exchange for the off-diagonal block
        on_loss           `raise`: DeviceLostError; `continue`: with fewer devices from the last checkpoint
        checkpoint_every  iterations between checkpoints of `continue`, in the memory of this process
        limit_s           seconds within which a call must return; longer than an iteration or loading a partition

        Raises InputError for a folder without a matrix, and ParameterError for a matrix that is not square.
        """
        self._stored = open_stored(folder)
        if self._stored.n_rows != self._stored.n_cols:
            raise ParameterError(
                f"The matrix is not square ({self._stored.n_rows} × {self._stored.n_cols}). "
                "x := A·x needs a square matrix. Choose another one."
            )
        if not places or checkpoint_every < 1:
            raise ParameterError(
                f"Invalid parameters: {len(places)} devices, a checkpoint every {checkpoint_every} iterations. "
                "Both numbers must be at least 1."
            )
        self._cluster = Cluster(ray, tuple(places), transport, lambda _: folder, open_device, limit_s)
        self._common = folder, exchange, overlap
        self._on_loss, self._checkpoint_every = on_loss, checkpoint_every
        self._resources, self._actors = ExitStack(), cast(CaseActors | None, None)
        self._failure: BaseException | None = ConflictError(OUTSIDE)
        self._loaded = False
        self._completed = self._checkpoint_at = 0
        self._checkpoint: Any = None
        self.iteration = 0
        self.losses: tuple[DeviceLost, ...] = ()

    def __enter__(self) -> "ClusterMatrix":
        self._failure = None
        self._run()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._failure = ConflictError(OUTSIDE)
        self._close()

    @property
    def actors(self) -> CaseActors:
        """Return the current actors with their partitions; raise ConflictError outside of the with statement."""
        if self._actors is None:
            raise ConflictError(OUTSIDE)
        return self._actors

    def load(self, x: Any) -> None:
        """Send each device its elements of x, float64 [n] on the host; raise InputError for another array."""
        self._check(x)
        self._loaded, self.iteration, self._completed, self._checkpoint_at = True, 0, 0, 0
        if self._on_loss == "continue":
            self._checkpoint = np.array(x)
        self._run(lambda actors: _load(actors, x))

    def advance(self, iterations: int) -> None:
        """Compute x := A·x `iterations` times; raise DeviceLostError, or ConflictError before `load`."""
        if not self._loaded or iterations < 0:
            raise ConflictError(f"Cannot run {iterations} iterations. Call load first, and use a number of at least 0.")
        self.iteration += iterations
        self._run()

    def read(self, x: Any) -> None:
        """Copy the vector to x, float64 [n] on the host, possibly memory-mapped; raise InputError for another array."""
        self._check(x)
        if not self._loaded:
            raise ConflictError("No vector is loaded. Call load first.")
        self._run(lambda actors: actors.read(x))

    def _run(self, function: Callable[[CaseActors], None] | None = None) -> None:
        """Bring all actors to the current iteration and call the function; repeat with fewer actors after a loss."""
        if self._failure is not None:
            raise self._failure
        try:
            while True:
                try:
                    actors = self._actors or self._open()
                    self._catch_up(actors)
                    return function(actors) if function else None
                except HostLostError as lost:
                    self._handle_loss(lost)
        except BaseException as error:
            # The other actors may wait forever for the failed one, and their vectors may be at different iterations.
            self._failure = error
            self._close()
            raise

    def _open(self) -> CaseActors:
        """Start actors on the remaining devices, with the vector of the last checkpoint."""
        count = len(self._cluster.places)
        pool = self._resources.enter_context(open_actor_pool(self._cluster, count))
        self._actors = actors = pool.case_actors("multiplying", count, ProductMember)
        actors.load_parts(cut_by_entries(self._stored, (count,)), *self._common)
        self._completed = self._checkpoint_at
        if self._checkpoint is not None:
            _load(actors, self._checkpoint)
        return actors

    def _catch_up(self, actors: CaseActors) -> None:
        while self._completed < self.iteration:
            # An actor that fails ends all of them, and its own error is raised.
            actors.each("advance", 1)
            self._completed += 1
            if self._checkpoint is not None and self._completed - self._checkpoint_at >= self._checkpoint_every:
                # The previous checkpoint stays valid until the new one is complete.
                vector = np.empty_like(self._checkpoint)
                actors.read(vector)
                self._checkpoint, self._checkpoint_at = vector, self._completed

    def _handle_loss(self, lost: HostLostError) -> None:
        """Continue without the lost devices, or raise DeviceLostError."""
        self._close()
        if not lost.places:
            raise DeviceLostError(lost.message) from lost
        remaining = tuple(place for place in self._cluster.places if place not in lost.places)
        self._cluster = replace(self._cluster, places=remaining)
        iteration = self._completed + 1
        if self._on_loss == "raise" or not remaining:
            names = ", ".join(str(place) for place in lost.places)
            raise DeviceLostError(
                f"Lost before iteration {iteration} was complete: {names}. {lost.reason} Repair or remove the lost "
                "device and restart, or use on_loss='continue' to go on with the remaining devices."
            ) from lost
        self.losses += tuple(DeviceLost(place, iteration, self._checkpoint_at) for place in lost.places)

    def _close(self) -> None:
        self._actors = None
        self._resources.close()

    def _check(self, x: Any) -> None:
        if x.dtype != np.float64 or x.shape != (self._stored.n_rows,):
            raise InputError(
                f"The vector is {x.dtype} {x.shape}, but the matrix needs float64 ({self._stored.n_rows},)."
            )


def _load(actors: CaseActors, x: Any) -> None:
    actors.load(x)
    # This makes the loaded vector the current one.
    actors.each("run", "advance", 0)
