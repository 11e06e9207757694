"""Calls to groups of Ray actors that detect the end of an actor instead of waiting for it."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from gpu_engine.errors import DeviceLostError, HostLostError
from gpu_engine.multigpu.cluster.transport import MESSAGES
from gpu_engine.multigpu.placement import DeviceSlot

PING_S = 60.0
"""Seconds within which an actor must respond to `ping`, which does not wait for its device."""


class Actors:
    """Group of actors, actor i in device slot i; `deliver` and `ping` run in parallel to the other calls."""

    def __init__(self, ray: Any, kind: type, places: Sequence[DeviceSlot], limit_s: float) -> None:
        """Start the actors; limit_s: seconds within which a call must return."""
        self.places = tuple(places)
        self._ray, self._limit_s = ray, limit_s
        start = ray.remote(concurrency_groups={MESSAGES: 1})(kind)
        self._actors = [start.options(**place.options(ray)).remote(ray.put) for place in places]

    def close(self) -> None:
        """Kill the actors."""
        for actor in self._actors:
            self._ray.kill(actor)

    def _all(self, work: str, calls: Iterable[Any], numbers: Iterable[int]) -> list[Any]:
        """Return the results of calls to the actors with these numbers.

        work  description of the calls for error messages
        Raises the error of a call, or HostLostError: with `places` if actors have ended, without if none responds.
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
            # The error may be a consequence of the end of another actor.
            gone = {number} if isinstance(error.cause, DeviceLostError) else set()
            self._raise_lost(work, gone, error.cause)
            raise error.cause from error
        except exceptions.RayError as error:
            self._raise_lost(work, {number}, error)
            raise

    def _raise_lost(self, work: str, gone: set[int], error: Exception) -> None:
        """Raise HostLostError if actors have ended or do not respond to a ping."""
        pings = [actor.ping.options(concurrency_group=MESSAGES).remote() for actor in self._actors]
        _, silent = self._ray.wait(pings, num_returns=len(pings), timeout=PING_S)
        gone = gone | {i for i, ping in enumerate(pings) if ping in silent or not self._answers(ping)}
        if not gone:
            return
        places, reason = tuple(self.places[i] for i in sorted(gone)), _sentence(error)
        names, hosts = ", ".join(map(str, places)), tuple(dict.fromkeys(place.host for place in places))
        raise HostLostError(
            f"Lost while {work}: {names}. {reason} Earlier measurements are kept. Repair the host or remove it from "
            "the cluster, then start the job again.",
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
            f"Lost while {work}: No response within {self._limit_s:.0f} s from {names}. Check that these devices are "
            "free in Ray and that the hosts reach each other. For slow iterations, raise limit_s."
        )


def _sentence(error: Exception) -> str:
    """Return the first sentence of the last line of a Ray error; the other lines name the actor and guess causes."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[-1].strip().partition(". ")[0].rstrip(".") + "."
