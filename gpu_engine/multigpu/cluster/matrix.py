"""ClusterMatrix: x := A·x again and again over the devices of several hosts, by a team of one Ray actor for each.

No member begins an iteration before all have ended the one before: what is lost with one of them is known to the
iteration. Those that are left end too, since one that fetches from a lost one waits for ever; a new team has the parts
that fewer devices have.
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
from gpu_engine.multigpu.cluster.crew import Cluster, Team, open_crew, open_device
from gpu_engine.multigpu.cluster.product import ProductMember, open_stored
from gpu_engine.multigpu.cluster.transport import TransportName
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.placement import Place

OUTSIDE = "No actor runs: they start and end with the block of a with statement. Use the matrix inside of it."

OnLoss = Literal["raise", "continue"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A device that was lost.

    iteration     the first that was not whole, counted from 1 since `load`
    resumed_from  iterations of the vector from which the others went on
    """

    place: Place
    iteration: int
    resumed_from: int


class ClusterMatrix:
    """A square matrix cut by rows, each part on its device, and a vector that stays there with it; a context manager.

    The processes of all hosts read the matrix at the same path, each its own part alone.

    iteration  products since `load`
    losses     devices that were lost, in the order in which they were
    """

    def __init__(
        self,
        ray: Any,
        folder: Path,
        places: Sequence[Place],
        *,
        exchange: ExchangeName = "halo",
        overlap: bool = True,
        transport: TransportName = "object-store",
        on_loss: OnLoss = "raise",
        checkpoint_every: int = 100,
        limit_s: float = 600.0,
        open_device: Callable[[str], Device] = open_device,
    ) -> None:
        """Reads the borders of the parts; the actors start with the block.

        ray               the module, which has joined a cluster
        folder            indptr.npy, indices.npy, values.npy and meta.json of the matrix
        places            a device for each part; those of a host stand in a row, for neighbours exchange most
        overlap           multiplies the diagonal block while the elements for the other one arrive
        on_loss           `raise`: DeviceLostError; `continue`: with fewer devices, from the last checkpoint
        checkpoint_every  iterations after which `continue` keeps the vector, in the memory of this process
        limit_s           how long the actors may be silent: longer than an iteration, or reading a part, takes

        Raises InputError for a folder without a matrix, ParameterError where the matrix is not square.
        """
        self._stored = open_stored(folder)
        if self._stored.n_rows != self._stored.n_cols:
            raise ParameterError(
                f"The matrix is {self._stored.n_rows} × {self._stored.n_cols}; x := A·x needs a square one. "
                "Choose another matrix."
            )
        if not places or checkpoint_every < 1:
            raise ParameterError(
                f"There are {len(places)} places, and a checkpoint every {checkpoint_every} iterations; "
                "give at least one of each."
            )
        self._cluster = Cluster(ray, tuple(places), transport, lambda _: folder, open_device, limit_s)
        self._common = folder, exchange, overlap
        self._on_loss, self._checkpoint_every = on_loss, checkpoint_every
        self._crew, self._team = ExitStack(), cast(Team | None, None)
        self._failure: BaseException | None = ConflictError(OUTSIDE)
        self._loaded = False
        self._completed = self._checkpoint_at = 0
        self._checkpoint: Any = None
        self.iteration = 0
        self.losses: tuple[Loss, ...] = ()

    def __enter__(self) -> "ClusterMatrix":
        self._failure = None
        self._together()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._failure = ConflictError(OUTSIDE)
        self._close()

    @property
    def team(self) -> Team:
        """The members as they are now, with their parts; raises ConflictError outside of the block."""
        if self._team is None:
            raise ConflictError(OUTSIDE)
        return self._team

    def load(self, x: Any) -> None:
        """Sends each device what it owns of x, float64 [n] on the host; raises InputError for another."""
        self._check(x)
        self._loaded, self.iteration, self._completed, self._checkpoint_at = True, 0, 0, 0
        if self._on_loss == "continue":
            self._checkpoint = np.array(x)
        self._together(lambda team: _load(team, x))

    def advance(self, iterations: int) -> None:
        """x := A·x so many times; raises DeviceLostError, ConflictError before `load`."""
        if not self._loaded or iterations < 0:
            raise ConflictError(f"{iterations} iterations need a vector and cannot be undone; call load first.")
        self.iteration += iterations
        self._together()

    def read(self, x: Any) -> None:
        """Copies the vector to x, float64 [n] on the host, possibly memory-mapped; raises InputError for another."""
        self._check(x)
        if not self._loaded:
            raise ConflictError("There is no vector to read; call load first.")
        self._together(lambda team: team.read(x))

    def _together(self, function: Callable[[Team], None] | None = None) -> None:
        """Brings all actors to the iteration asked for and calls the function; again with fewer where some are lost."""
        if self._failure is not None:
            raise self._failure
        try:
            while True:
                try:
                    team = self._team or self._open()
                    self._catch_up(team)
                    return function(team) if function else None
                except HostLostError as lost:
                    self._lose(lost)
        except BaseException as error:
            # Others may wait for ever for the one that failed, and vectors differ in their iteration.
            self._failure = error
            self._close()
            raise

    def _open(self) -> Team:
        """A new team at the places that are left, with the vector of the last checkpoint."""
        count = len(self._cluster.places)
        crew = self._crew.enter_context(open_crew(self._cluster, count))
        self._team = team = crew.team("multiplying", count, ProductMember)
        team.load_parts(cut_by_entries(self._stored, (count,)), *self._common)
        self._completed = self._checkpoint_at
        if self._checkpoint is not None:
            _load(team, self._checkpoint)
        return team

    def _catch_up(self, team: Team) -> None:
        while self._completed < self.iteration:
            # Whoever fails ends them all: its own error is what is raised.
            team.each("advance", 1)
            self._completed += 1
            if self._checkpoint is not None and self._completed - self._checkpoint_at >= self._checkpoint_every:
                # The old one is whole until the new one is.
                vector = np.empty_like(self._checkpoint)
                team.read(vector)
                self._checkpoint, self._checkpoint_at = vector, self._completed

    def _lose(self, lost: HostLostError) -> None:
        """Goes on without the places that were lost, or raises DeviceLostError."""
        self._close()
        if not lost.places:
            raise DeviceLostError(lost.message) from lost
        left = tuple(place for place in self._cluster.places if place not in lost.places)
        self._cluster = replace(self._cluster, places=left)
        iteration = self._completed + 1
        if self._on_loss == "raise" or not left:
            names = ", ".join(str(place) for place in lost.places)
            raise DeviceLostError(
                f"Lost before iteration {iteration} was whole: {names}. {lost.reason} Mend or leave out what was lost "
                "and start again; on_loss='continue' goes on with the devices that are left."
            ) from lost
        self.losses += tuple(Loss(place, iteration, self._checkpoint_at) for place in lost.places)

    def _close(self) -> None:
        self._team = None
        self._crew.close()

    def _check(self, x: Any) -> None:
        if x.dtype != np.float64 or x.shape != (self._stored.n_rows,):
            raise InputError(f"The vector is {x.dtype} {x.shape}; the matrix needs float64 ({self._stored.n_rows},).")


def _load(team: Team, x: Any) -> None:
    team.load(x)
    # From here on its vector is what it has loaded.
    team.each("run", "advance", 0)
