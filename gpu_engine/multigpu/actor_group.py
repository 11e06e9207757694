"""Actors, called together: an end of one is found, never waited for. ActorGroup: one for each part of a matrix."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gpu_engine.errors import DeviceLostError
from gpu_engine.multigpu.actors import PartActor, PartInfo
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import ExchangeName, Transfer, plan_shares, plan_transfers
from gpu_engine.multigpu.partition import Span
from gpu_engine.multigpu.placement import Place
from gpu_engine.multigpu.transport import MESSAGES, TransportName

PING_S = 60.0
"""An actor that is there answers at once, whatever its device does."""


class ActorsLostError(Exception):
    """Actors are gone, or their devices; the message says how.

    places  where they were
    """

    def __init__(self, places: Sequence[Place], reason: str) -> None:
        super().__init__(reason)
        self.places = tuple(places)


class Actors:
    """Actor i at place i, each a process; `deliver` and `ping` run in a thread of their own beside the other calls."""

    def __init__(self, ray: Any, kind: type, places: Sequence[Place], limit_s: float) -> None:
        """Starts the actors; limit_s: how long they may be silent while they are asked for something."""
        self._ray, self._places, self._limit_s = ray, tuple(places), limit_s
        start = ray.remote(concurrency_groups={MESSAGES: 1})(kind)
        self._actors = [start.options(**place.options(ray)).remote(ray.put) for place in places]

    def close(self) -> None:
        """Ends the actors, whatever they are doing."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _all(self, calls: Iterable[Any], actors: Sequence[int] | None = None) -> list[Any]:
        """What all actors answer, or those of these numbers, in their order.

        Raises what one of them raised, ActorsLostError, or DeviceLostError where all that are left are silent.
        """
        waiting = list(calls)
        order = {call: i for i, call in enumerate(waiting)}
        numbers = dict(zip(waiting, actors or range(len(waiting)), strict=True))
        answers: list[Any] = [None] * len(waiting)
        while waiting:
            ready, waiting = self._ray.wait(waiting, timeout=self._limit_s)
            if not ready:
                self._silent([numbers[call] for call in waiting])
            for call in ready:
                answers[order[call]] = self._one(numbers[call], call)
        return answers

    def _one(self, number: int, call: Any) -> Any:
        """What one actor answers; raises the same."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=self._limit_s)
        except exceptions.GetTimeoutError:
            self._silent([number])
        except exceptions.RayTaskError as error:
            # What it raised may come from the end of another.
            gone = {number} if isinstance(error.cause, DeviceLostError) else set()
            self._raise_lost(gone, error.cause)
            raise error.cause from error
        except exceptions.RayError as error:
            self._raise_lost({number}, error)
            raise

    def _raise_lost(self, gone: set[int], error: Exception) -> None:
        """Raises ActorsLostError if any actors are known to be gone, or do not answer now."""
        pings = [actor.ping.options(concurrency_group=MESSAGES).remote() for actor in self._actors]
        _, silent = self._ray.wait(pings, num_returns=len(pings), timeout=PING_S)
        gone = gone | {i for i, ping in enumerate(pings) if ping in silent or not self._answers(ping)}
        if gone:
            raise ActorsLostError([self._places[i] for i in sorted(gone)], _sentence(error)) from error

    def _answers(self, ping: Any) -> bool:
        try:
            self._ray.get(ping)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _silent(self, numbers: Sequence[int]) -> NoReturn:
        names = ", ".join(str(self._places[number]) for number in numbers)
        raise DeviceLostError(
            f"No answer in {self._limit_s:.0f} s from {names}. Look whether Ray has these devices free, and whether "
            "the hosts reach each other; a slow iteration needs a higher limit."
        )


class ActorGroup(Actors):
    """Part i on an actor at place i.

    part_infos  what each has of the matrix, once it has loaded it
    transfers   what is fetched in each iteration
    """

    def __init__(self, ray: Any, places: Sequence[Place], limit_s: float) -> None:
        """Starts the actors; see Actors."""
        super().__init__(ray, PartActor, places, limit_s)
        self.spans: tuple[Span, ...] = ()
        self.part_infos: list[PartInfo] = []
        self.transfers: tuple[Transfer, ...] = ()

    def load_parts(
        self,
        open_device: Callable[[str], Device],
        folder: Path,
        spans: Sequence[Span],
        exchange: ExchangeName,
        overlap: bool,
    ) -> None:
        """Each actor reads its part of the matrix in that folder."""
        self.spans = tuple(spans)
        self.part_infos = self._all(
            actor.load_part.remote(open_device, place.device, folder, self.spans, i, exchange, overlap)
            for i, (actor, place) in enumerate(zip(self._actors, self._places, strict=True))
        )

    def connect(self, transport: TransportName) -> None:
        """Tells each actor what it fetches from whom."""
        halos = [info.halo for info in self.part_infos]
        self.transfers, shares = plan_transfers(self.spans, halos), plan_shares(self.spans, halos)
        rendezvous_id = self._one(0, self._actors[0].new_rendezvous_id.remote(transport))

        def of(number: int, every: Sequence[Transfer]) -> list[Transfer]:
            return [transfer for transfer in every if number in (transfer.source, transfer.target)]

        self._all(
            actor.connect.remote(transport, rendezvous_id, i, self._actors, of(i, self.transfers), of(i, shares))
            for i, actor in enumerate(self._actors)
        )

    def load(self, number: int, begin: int, values: Any) -> None:
        """Sends one actor elements that it owns."""
        self._one(number, self._actors[number].load.remote(begin, values))

    def step(self) -> None:
        """One iteration on all."""
        self._all(actor.step.remote() for actor in self._actors)

    def read(self, number: int, begin: int, end: int) -> Any:
        """Elements that one actor owns."""
        return self._one(number, self._actors[number].read.remote(begin, end))


def _sentence(error: Exception) -> str:
    """The first sentence of what Ray says last: before it are the names of the actor, after it guesses."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[-1].strip().partition(". ")[0].rstrip(".") + "."
