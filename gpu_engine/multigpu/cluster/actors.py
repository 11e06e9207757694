"""Actors of Ray, called together: the end of one is detected, and the driver does not wait for it."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from gpu_engine.errors import DeviceLostError, HostLostError
from gpu_engine.multigpu.cluster.transport import MESSAGES
from gpu_engine.multigpu.placement import Place

PING_S = 60.0
"""An actor that is there answers at once, whatever its device does."""


class Actors:
    """Actor i at place i, each a process; `deliver` and `ping` run in a thread of their own beside the other calls."""

    def __init__(self, ray: Any, kind: type, places: Sequence[Place], limit_s: float) -> None:
        """Starts the actors; limit_s: how long they may be silent while they are asked for something."""
        self.places = tuple(places)
        self._ray, self._limit_s = ray, limit_s
        start = ray.remote(concurrency_groups={MESSAGES: 1})(kind)
        self._actors = [start.options(**place.options(ray)).remote(ray.put) for place in places]

    def close(self) -> None:
        """Ends the actors, whatever they are doing."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _all(self, work: str, calls: Iterable[Any], numbers: Iterable[int]) -> list[Any]:
        """Return the answers of the actors with these numbers, one for each call.

        work  what they do, for errors
        Raises what one of them raised, or HostLostError: with `places` if any are gone, without if none answers.
        """
        waiting = list(calls)
        order = {call: i for i, call in enumerate(waiting)}
        actors = dict(zip(waiting, numbers, strict=True))
        answers: list[Any] = [None] * len(waiting)
        while waiting:
            ready, waiting = self._ray.wait(waiting, timeout=self._limit_s)
            if not ready:
                self._silent(work, [actors[call] for call in waiting])
            for call in ready:
                answers[order[call]] = self._one(work, actors[call], call)
        return answers

    def _one(self, work: str, number: int, call: Any) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(call, timeout=self._limit_s)
        except exceptions.GetTimeoutError:
            self._silent(work, [number])
        except exceptions.RayTaskError as error:
            # What it raised may come from the end of another.
            gone = {number} if isinstance(error.cause, DeviceLostError) else set()
            self._raise_lost(work, gone, error.cause)
            raise error.cause from error
        except exceptions.RayError as error:
            self._raise_lost(work, {number}, error)
            raise

    def _raise_lost(self, work: str, gone: set[int], error: Exception) -> None:
        """Raises HostLostError if any actors are known to be gone, or do not answer now."""
        pings = [actor.ping.options(concurrency_group=MESSAGES).remote() for actor in self._actors]
        _, silent = self._ray.wait(pings, num_returns=len(pings), timeout=PING_S)
        gone = gone | {i for i, ping in enumerate(pings) if ping in silent or not self._answers(ping)}
        if not gone:
            return
        places, reason = tuple(self.places[i] for i in sorted(gone)), _sentence(error)
        names, hosts = ", ".join(map(str, places)), tuple(dict.fromkeys(place.host for place in places))
        raise HostLostError(
            f"Lost while {work}: {names}. {reason} What was measured before is kept. Mend the host, or leave it out, "
            "and start the job again.",
            hosts,
            places,
            reason,
        ) from error

    def _answers(self, ping: Any) -> bool:
        try:
            self._ray.get(ping)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _silent(self, work: str, numbers: Sequence[int]) -> NoReturn:
        names = ", ".join(str(self.places[number]) for number in numbers)
        raise HostLostError(
            f"Lost while {work}: No answer in {self._limit_s:.0f} s from {names}. Look whether Ray has these devices "
            "free, and whether the hosts reach each other; a slow iteration needs a higher limit."
        )


def _sentence(error: Exception) -> str:
    """Return the first sentence of what Ray says last: before it are the names of the actor, after it guesses."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[-1].strip().partition(". ")[0].rstrip(".") + "."
