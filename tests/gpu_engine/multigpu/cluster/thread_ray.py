"""As much of Ray as crews call, with threads for actors: what is lost, and when, is up to the test."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from gpu_engine.multigpu.placement import DeviceSlot

LOADING = threading.Lock()
"""Python 3.11 may not parse in two threads at once, which `numpy.load` does; actors of Ray have no thread in common."""

HERE = threading.local()
"""`actor`: the one whose thread this is."""


class RayError(Exception):
    pass


class ActorDiedError(RayError):
    pass


class GetTimeoutError(RayError, TimeoutError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Gone(BaseException):
    """Ends what an actor does that is no longer there."""


class ThreadRay:
    """A cluster whose nodes have so many CPUs; only when `silent` is set a wait ends without an answer."""

    exceptions = SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, ActorDiedError=ActorDiedError, GetTimeoutError=GetTimeoutError
    )
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node_id, soft: (node_id, soft))
    )

    def __init__(self, **cpus: int) -> None:
        self._cpus = cpus
        self.actors: list[Actor] = []
        self.silent = threading.Event()

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeName": name, "NodeID": f"id-{name}", "Alive": count > 0, "Resources": {"CPU": float(abs(count))}}
            for name, count in self._cpus.items()
        ]

    def remote(self, concurrency_groups: dict[str, int]) -> Callable[[type], Any]:
        assert concurrency_groups == {"messages": 1}
        return lambda kind: SimpleNamespace(
            options=lambda **options: SimpleNamespace(remote=lambda *args: self._start(kind, options, args))
        )

    def _start(self, kind: type, options: dict[str, Any], arguments: Any) -> "Actor":
        assert (options["max_restarts"], options["max_task_retries"]) == (0, 0)
        actor = Actor(kind(*arguments), options["scheduling_strategy"])
        self.actors.append(actor)
        return actor

    def put(self, value: Any) -> Any:
        return value

    def get(self, call: futures.Future[Any], timeout: float | None = None) -> Any:
        try:
            return call.result(timeout)
        except futures.TimeoutError:
            raise GetTimeoutError from None

    def wait(self, calls: Sequence[Any], num_returns: int = 1, timeout: float | None = None) -> tuple[Any, Any]:
        done: set[Any] = set()
        while len(done) < num_returns and not self.silent.is_set():
            done = futures.wait(
                calls, 0.02, futures.FIRST_COMPLETED if num_returns == 1 else futures.ALL_COMPLETED
            ).done
        ready = [call for call in calls if call in done][:num_returns]
        return ready, [call for call in calls if call not in ready]

    def kill(self, actor: "Actor") -> None:
        actor.end()

    def lose(self, *places: DeviceSlot) -> None:
        """The processes there are gone at once, whatever they were doing."""
        names = {(place.device, place.node) for place in places}
        gone = [actor for actor in self.actors if actor.alive and (actor.device, actor.node) in names]
        for actor in gone:
            actor.alive = False
        for actor in gone:
            actor.end()


class Actor:
    """An object with two threads: for the calls of the group `messages`, and for all others."""

    def __init__(self, instance: Any, affinity: tuple[str, bool]) -> None:
        self.node, soft = affinity
        assert not soft
        self.alive, self.device = True, ""
        self._instance = instance
        self._calls: dict[futures.Future[Any], None] = {}
        self._lock = threading.Lock()
        self._queues: dict[str, queue.SimpleQueue[Any]] = {"": queue.SimpleQueue(), "messages": queue.SimpleQueue()}
        for waiting in self._queues.values():
            # One that is ended while it computes may wait for a message for ever.
            threading.Thread(target=self._serve, args=(waiting,), daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        return Method(self, name)

    def submit(self, group: str, name: str, arguments: Any) -> futures.Future[Any]:
        if name == "open":
            self.device = arguments[1]
        future: futures.Future[Any] = futures.Future()
        with self._lock:
            if self.alive:
                self._calls[future] = None
                self._queues[group].put((future, name, arguments))
                return future
        future.set_exception(ActorDiedError("The actor died.\nIt was ended."))
        return future

    def end(self) -> None:
        with self._lock:
            self.alive = False
            left, self._calls = self._calls, {}
        for waiting in self._queues.values():
            waiting.put(None)
        for future in left:
            future.set_exception(ActorDiedError("The actor died.\nIt was ended."))

    def _serve(self, waiting: "queue.SimpleQueue[Any]") -> None:
        HERE.actor = self
        while (job := waiting.get()) is not None and self.alive:
            future, name, arguments = job
            answer, error = None, None
            try:
                with LOADING if name == "call" and arguments[1] == "load_part" else nullcontext():
                    answer = getattr(self._instance, name)(*arguments)
            except Gone:
                return
            except Exception as raised:
                error = RayTaskError(raised)
            with self._lock:
                if self._calls.pop(future, self) is self:
                    return
            future.set_result(answer) if error is None else future.set_exception(error)


class Method:
    """`actor.name`, to be called with `.remote(…)`."""

    def __init__(self, actor: Actor, name: str, group: str = "") -> None:
        self._actor, self._name, self._group = actor, name, group

    def options(self, concurrency_group: str) -> "Method":
        return Method(self._actor, self._name, concurrency_group)

    def remote(self, *arguments: Any) -> futures.Future[Any]:
        caller = getattr(HERE, "actor", None)
        if caller is not None and not caller.alive:
            # A process that is gone sends nothing more.
            raise Gone
        return self._actor.submit(self._group, self._name, arguments)
