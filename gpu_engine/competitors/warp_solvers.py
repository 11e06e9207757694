"""Solvers of NVIDIA Warp, `warp.optim.linear`, in three modes.

`check-10`: the host reads the residual every ten iterations. `check-0`: one CUDA graph whose loop tests the residual
on the device in each iteration. `captured`: the same call, captured once by the user and replayed.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from gpu_engine.competitors.library_calls import installed
from gpu_engine.competitors.solver_calls import Answer, LibrarySystem
from gpu_engine.errors import ParameterError

CHECK_10, CHECK_0, CAPTURED = "check-10", "check-0", "captured"

MODES: Mapping[str, str] = {
    CHECK_10: "warp.optim.linear; the host tests the residual every 10 iterations",
    CHECK_0: "warp.optim.linear; the GPU tests the residual in each iteration (check_every=0)",
    CAPTURED: "warp.optim.linear with check_every=0, the whole call captured once in a CUDA graph",
}
"""Mode → its summary."""

CHECKS = {CHECK_10: 10, CHECK_0: 0, CAPTURED: 0}
"""Mode → iterations between two tests on the host; 0: tests on the GPU."""

COUNTING = 1
"""The same while iterations are counted."""

FUNCTIONS = {"cg": "cg", "minres": "cr", "bicgstab": "bicgstab", "gmres": "gmres"}
"""Method → function of Warp, which has conjugate residuals in place of MINRES."""

SPMVS = {"bicgstab": 2}
"""SpMVs per iteration, if not 1."""


def versions() -> Mapping[str, str]:
    """Return the version of Warp."""
    return {"Warp": str(import_module("warp").__version__)}


def binding(mode: str) -> Callable[[LibrarySystem], "WarpSolver"]:
    """Return the function that creates the solver of a system in a mode."""
    return lambda system: WarpSolver(system, mode)


class WarpSolver:
    """A system in Warp: its matrix shares the arrays of CSR, with blocks of 1×1.

    Raises ParameterError if Warp is not installed, and for row pointers of 64 bits.
    """

    def __init__(self, system: LibrarySystem, mode: str) -> None:
        self._wp: Any = installed("warp", "NVIDIA Warp", "warp-lang")
        # Otherwise Warp prints its devices to standard output.
        self._wp.config.quiet = True
        self._linear, sparse = import_module("warp.optim.linear"), import_module("warp.sparse")
        self._system, self._mode = system, mode
        if system.matrix.indptr.dtype != np.int32:
            raise ParameterError("NVIDIA Warp has row pointers of 32 bits. Choose a matrix with fewer nonzeros.")
        wp, device, stream = self._wp, *_device_and_stream(system.b)
        self._device = wp.get_device(device)
        self._stream = wp.Stream(self._device, cuda_stream=stream)
        with wp.ScopedStream(self._stream):
            self._matrix = sparse.bsr_zeros(system.n, system.n, wp.float64, device=self._device)
            self._matrix.offsets = wp.from_dlpack(system.matrix.indptr)
            self._matrix.columns = wp.from_dlpack(system.matrix.indices)
            self._matrix.values = wp.from_dlpack(system.matrix.values)
            self._matrix.nnz = system.matrix.nnz
            self._matrix.notify_nnz_changed(system.matrix.nnz)
            self._b = wp.from_dlpack(system.b)
            self._x = wp.zeros(system.n, dtype=wp.float64, device=self._device)
            jacobi = system.preconditioner == "jacobi"
            self._M = self._linear.preconditioner(self._matrix, "diag") if jacobi else None
        self._graphs: dict[float, Any] = {}

    def solve(self, tolerance: float) -> Any:
        """Implement `BoundSolver`."""
        wp = self._wp
        with wp.ScopedStream(self._stream):
            if self._mode == CAPTURED:
                wp.capture_launch(self._graph(tolerance))
            else:
                self._call(tolerance)
        return self._solution()

    def count(self, tolerance: float) -> Answer:
        """Implement `BoundSolver`; the host tests each iteration, because modes count differently. GMRES: cycles."""
        with self._wp.ScopedStream(self._stream):
            ended = self._call(tolerance, COUNTING)
        iterations, norm, bound = round(float(ended[0])), float(ended[1]), float(ended[2])
        # One SpMV more for the residual at the start; GMRES has it at the end of each cycle too.
        spmvs = iterations * SPMVS.get(self._system.method, 1) + 1
        if self._system.method == "gmres":
            spmvs += -(-iterations // self._restart)
        return Answer(self._solution(), iterations, spmvs, norm <= bound)

    @property
    def _restart(self) -> int:
        return min(self._system.restart, self._system.n)

    def _call(self, tolerance: float, check_every: int | None = None) -> Any:
        """Call the function of Warp from x = 0; return what it returns: iterations, norm, and its bound.

        check_every  None: that of the mode
        """
        system = self._system
        self._x.zero_()
        options: dict[str, Any] = {
            # Without atol, Warp takes the relative tolerance as the absolute one too.
            "tol": tolerance,
            "atol": 0.0,
            "maxiter": system.iterations_max,
            "M": self._M,
            "check_every": CHECKS[self._mode] if check_every is None else check_every,
            "use_cuda_graph": True,
        }
        if system.method == "gmres":
            options["restart"] = self._restart
        return getattr(self._linear, FUNCTIONS[system.method])(self._matrix, self._b, self._x, **options)

    def _graph(self, tolerance: float) -> Any:
        """Return the CUDA graph of the whole call, captured once per tolerance."""
        if tolerance not in self._graphs:
            # The first call loads the modules of Warp, which a capture must not do.
            self._call(tolerance)
            # The stream alone: it knows its device.
            with self._wp.ScopedCapture(stream=self._stream) as capture:
                self._call(tolerance)
            self._graphs[tolerance] = capture.graph
        return self._graphs[tolerance]

    def _solution(self) -> Any:
        """Return x as an array of CuPy that shares its memory."""
        return _shared(self._x)


def _device_and_stream(b: Any) -> tuple[str, int]:
    """Return the name of the GPU of an array of CuPy, and the handle of the current stream."""
    import cupy

    return f"cuda:{int(b.device.id)}", int(cupy.cuda.get_current_stream().ptr)


def _shared(x: Any) -> Any:
    import cupy

    return cupy.asarray(x)
