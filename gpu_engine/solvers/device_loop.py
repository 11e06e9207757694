"""The loop around a recurrence on a GPU: one CUDA graph, or launches part by part.

The graph is a loop whose body computes the true residual, ends the solve or starts the recurrence, and runs it in
another loop of `check_every` iterations and one check. Iterations after the last one change nothing, so that x does not
depend on check_every. Nothing is allocated, and the host reads the state once, at the end.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from gpu_engine.solvers.base import DeviceRecurrence, System


class DeviceLoop(ABC):
    """A recurrence for one system on the current GPU; subclasses have the kernels around it.

    check_every  iterations between two checks
    cycles       whether the recurrence has cycles
    """

    _recurrence: DeviceRecurrence

    def __init__(self, system: System, check_every: int, cycles: bool) -> None:
        import cupy

        # This module imports CuPy.
        from gpu_engine.cuda import conditional

        self._system, self._xp, self._conditional = system, cupy, conditional
        self.check_every, self._cycles = check_every, cycles
        self._graph = self._part = None
        self._in_graph = system.precondition is None or system.precondition.in_graph

    def launch(self) -> None:
        """Launch the solve of `b` from `x` on the current stream, which must be in capture."""
        outer = self._conditional.new_handle(1)
        with self._conditional.while_true(outer):
            inner = 0 if self._cycles else self._conditional.new_handle(0)
            self._judge(outer, inner)
            self._recurrence.start()
            if self._cycles:
                self._recurrence.cycle()
                return
            with self._conditional.while_true(inner):
                self._iterations(inner)
            self._recurrence.finish()

    def _run(self, callback: Callable[[Any], None] | None) -> None:
        """Launch the solve on the current stream: as one graph, if nothing needs the host."""
        if callback is None and self._in_graph and self._conditional.supported():
            self._whole().launch()
        else:
            self._launch_by_parts(callback)

    @abstractmethod
    def _judge(self, outer: int, inner: int) -> None:
        """Launch the true residual, the end of the solve, and the best iterate; 0: no condition is set."""

    @abstractmethod
    def _check(self, inner: int) -> None:
        """Launch a check whether the recurrence goes on."""

    @abstractmethod
    def _read(self) -> Any:
        """Wait for the current stream, and return the state, with `active` and `continues`."""

    @abstractmethod
    def _report(self, callback: Callable[[Any], None]) -> None:
        """Call the callback after a check."""

    def _iterations(self, inner: int) -> None:
        for iteration in range(self.check_every):
            self._recurrence.iterate(iteration % 2)
        self._check(inner)

    def _launch_by_parts(self, callback: Callable[[Any], None] | None) -> None:
        """Run the solve with the decisions of the host, which are those of the GPU."""
        while True:
            self._judge(0, 0)
            if not self._read()["active"]:
                return
            self._recurrence.start()
            continues = True
            while continues:
                if self._in_graph:
                    self._repeated().launch()
                else:
                    self._repeat()
                continues = bool(self._read()["continues"]) and not self._cycles
                if callback is not None:
                    self._report(callback)
            self._recurrence.finish()

    def _repeat(self) -> None:
        """Launch what the host repeats: a cycle, or iterations and a check."""
        if self._cycles:
            self._recurrence.cycle()
        else:
            self._iterations(0)

    def _whole(self) -> Any:
        """Return the CUDA graph of a solve."""
        if self._graph is None:
            self._graph = self._captured(self.launch)
        return self._graph

    def _repeated(self) -> Any:
        """Return the CUDA graph of what the host repeats."""
        if self._part is None:
            self._part = self._captured(self._repeat)
        return self._part

    def _captured(self, launches: Callable[[], None]) -> Any:
        """Return the CUDA graph of launches, captured on a stream of its own."""
        outer = self._xp.cuda.get_current_stream()
        stream = self._xp.cuda.Stream(non_blocking=True)
        # `with stream` would not restore an outer stream that was made current by `use`.
        stream.use()
        try:
            stream.begin_capture()
            launches()
            graph = stream.end_capture()
        finally:
            outer.use()
        self._recurrence.captured()
        return graph
