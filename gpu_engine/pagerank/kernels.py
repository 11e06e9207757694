"""KERNELS: the list of PageRank kernels, each a layout of the matrix and a storage of values and ranks.

A name is `format/kernel+precision`. Precisions: `fp64`; `fp32`; `cpms2` and `cpms4` (two and four segments); `pattern`
(fp64 without matrix values; ranks are scaled by 1/out-degree), `pattern-cpms2` and `pattern-cpms4`; `unfused-fp64`,
`unfused-cpms2` and `unfused-cpms4` (one kernel per step of an iteration, as in the paper); `short-cpms2` … (short
exponents and rounded segments); `ir32` and `ir64` (iterative refinement with corrections in 32 or 64 bits, without
matrix values).
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpu_engine.cpms.convert import SOURCE as CONVERT
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.errors import ParameterError, quote
from gpu_engine.formats.base import POINTERS
from gpu_engine.pagerank import cuda_refined, refinement, run, unfused
from gpu_engine.pagerank.convergence_kernel import BETWEEN, CONVERGE, RAISE
from gpu_engine.pagerank.cuda_pulls import FP32, FP64, Storage, source_of
from gpu_engine.pagerank.cuda_ranks import CudaRanks
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.refinement import Refinement
from gpu_engine.pagerank.run import PLAIN, Procedure, Run
from gpu_engine.pagerank.schedule import Schedule
from gpu_engine.parameters import parse_params

if TYPE_CHECKING:
    from gpu_engine.pagerank.converging import Converging

CPU_LAYOUTS = {"csr/thread": "csr", "ell/thread": "ell"}


@dataclass(frozen=True, slots=True)
class RankKernel:
    """A PageRank kernel: a layout of the matrix, and a storage of values and ranks.

    layout    `csr/thread` and `ell/thread` with one thread per page and `csr/vector` with several, as in the paper;
              `sellp/thread` and `split/tile`
    segments  segments per value; 0: stored without segments
    short     segments with short exponents and rounding, for values from 2⁻⁶³ to 1
    single    fp32 instead of fp64
    free      pattern-only: without matrix values
    refined   bits of the corrections of iterative refinement; 0: no refinement
    fused     whether an iteration is one pull kernel and the norm phase; else the separate kernels of the paper
    backends  backends that it runs on
    """

    layout: str
    segments: int = 0
    single: bool = False
    free: bool = False
    refined: Literal[0, 32, 64] = 0
    fused: bool = True
    short: bool = False
    backends: tuple[str, ...] = ("cpu", "cuda")

    @property
    def precision(self) -> str:
        """Part of the name after the plus sign."""
        split = f"{'short-' if self.short else ''}cpms{self.segments}"
        stored = split if self.segments else "fp32" if self.single else "fp64"
        if self.refined:
            return f"ir{self.refined}"
        if not self.fused:
            return f"unfused-{stored}"
        if not self.free:
            return stored
        return f"pattern-{stored}" if self.segments else "pattern"

    @property
    def name(self) -> str:
        """Name in records and pages."""
        return f"{self.layout}+{self.precision}"

    @property
    def storage(self) -> Storage:
        """Storage of values and ranks on a GPU."""
        return self.segments or (FP32 if self.single else FP64)

    @property
    def mantissa_bits(self) -> int:
        """Mantissa bits of the values at full precision."""
        return 23 if self.single else 52

    @property
    def precisions(self) -> int:
        """Number of precisions of its iterations: segments per value, 2 for iterative refinement, or 0 for only one."""
        return 2 if self.refined == 32 else self.segments

    @property
    def ends_itself(self) -> bool:
        """True if a run on a GPU can test convergence on the device."""
        return self.fused and not self.refined

    @property
    def procedure(self) -> Procedure:
        """Module that drives its ranks, with `iterate` and `replayed`."""
        return refinement if self.refined else run

    def schedule(self, params: dict[str, Any]) -> Any:
        """Return the schedule of the procedure: a Schedule with these parameters, PLAIN, or a Refinement.

        Raise ParameterError if a parameter is out of range.
        """
        if self.refined:
            return Refinement(self.refined)
        storage = {"segments": self.segments, "short": self.short}
        return parse_params(Schedule, storage | params) if self.segments else PLAIN

    def sources(self, pointer: str) -> tuple[CudaSource, ...]:
        """Return the CUDA sources of a run with row pointers of a C++ type."""
        if self.refined:
            return (cuda_refined.source_of(self.layout, self.refined, pointer),)
        if not self.fused:
            return unfused.source_of(self.layout, self.segments, pointer, self.short), CONVERT
        pull = source_of(self.layout, self.storage, self.free, pointer, self.short)
        return pull, BETWEEN, RAISE if self.segments else CONVERGE

    def source_hash(self, backend: str) -> str:
        """Return the first 16 hex digits of the sha256 of its sources on a backend."""
        if backend == "cuda" or self.refined:
            return digest("".join(source.text for source in self.sources(POINTERS[0])))
        from gpu_engine.pagerank import cpu, cpu_ranks

        return digest(inspect.getsource(cpu) + inspect.getsource(cpu_ranks))

    def converging(self, ranks: Any, run: Run, params: PageRankParams, xp: Any) -> "Converging | None":
        """Return a run of these ranks that ends on the device, or None if this kernel or run has none."""
        if xp is np or not self.ends_itself or not run.converged:
            return None
        from gpu_engine.pagerank.converging import converging

        return converging(ranks, run, params, xp)

    def ranks(self, graph: TransitionMatrix, params: PageRankParams, xp: Any, convert: bool = True) -> Any:
        """Return the state that the procedure drives, on the device of the module `xp`, NumPy or CuPy.

        convert  whether values in segments become fp64 at full precision; on a GPU they may stay in segments
        """
        if self.refined:
            return cuda_refined.CudaRefined(graph, params, self.layout, self.refined, xp)
        if not self.fused:
            return unfused.UnfusedRanks(graph, params, self.layout, self.segments, xp, convert, self.short)
        if xp is not np:
            return CudaRanks(graph, params, self.layout, self.storage, xp, self.free, convert, self.short)
        from gpu_engine.pagerank.cpu_ranks import FreeRanks, PlainRanks, SegmentedRanks

        if self.free:
            return FreeRanks(graph, params)
        if self.segments:
            return SegmentedRanks(graph, params, CPU_LAYOUTS[self.layout], self.segments, self.short)
        return PlainRanks(graph, params, CPU_LAYOUTS[self.layout], np.float32 if self.single else np.float64)


def _kernels() -> tuple[RankKernel, ...]:
    kernels: list[RankKernel] = []
    for layout in ("csr/thread", "ell/thread", "sellp/thread", "split/tile"):
        on: Any = {} if layout in CPU_LAYOUTS else {"backends": ("cuda",)}
        kernels += [RankKernel(layout, **on), RankKernel(layout, single=True, **on)]
        kernels += [RankKernel(layout, segments=s, **on) for s in (2, 4)]
        if layout != "ell/thread":
            kernels.append(RankKernel(layout, free=True, **on))
            kernels += [RankKernel(layout, segments=s, free=True, backends=("cuda",)) for s in (2, 4)]
        if layout in CPU_LAYOUTS:
            kernels += [RankKernel(layout, segments=s, fused=False, backends=("cuda",)) for s in (0, 2, 4)]
    for layout in ("sellp/thread", "split/tile"):
        kernels += [RankKernel(layout, free=True, refined=bits, backends=("cuda",)) for bits in (32, 64)]
    kernels += [RankKernel("csr/vector", segments=s, backends=("cuda",)) for s in (0, 2, 4)]
    return (*kernels, *_short_kernels())


def _short_kernels() -> Iterator[RankKernel]:
    """Yield kernels with short exponents; on a CPU only in CSR, because the padding of ELL would not be zero."""
    cuda: Any = {"short": True, "backends": ("cuda",)}
    yield from (RankKernel("csr/thread", s, short=True) for s in (2, 4))
    yield from (
        RankKernel(layout, s, **cuda) for layout in ("ell/thread", "sellp/thread", "split/tile") for s in (2, 4)
    )
    yield from (RankKernel(layout, 2, free=True, **cuda) for layout in ("sellp/thread", "split/tile"))
    yield from (RankKernel(layout, s, fused=False, **cuda) for layout in CPU_LAYOUTS for s in (2, 4))


KERNELS = _kernels()


def kernels_on(backend: str, names: Sequence[str] = (), peers: Sequence[str] = ()) -> tuple[RankKernel, ...]:
    """Return the kernels of a backend with these names, or all; raise ParameterError for an unknown name.

    peers  further valid names, of library kernels
    """
    known = tuple(kernel for kernel in KERNELS if backend in kernel.backends)
    for name in names:
        if name not in peers and all(name != kernel.name for kernel in known):
            listed = ", ".join((*(kernel.name for kernel in known), *peers))
            raise ParameterError(f"Unknown PageRank kernel {quote(name)} on {backend}. Known kernels: {listed}.")
    return tuple(kernel for kernel in known if not names or kernel.name in names)
