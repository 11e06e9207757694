"""Auto: chooses the resources of each thread block by the matrices of the batch; in the paper (§3.2) all are equal.

The layout is always the sliced one: with 16-bit columns and 4 bytes per row it moves fewer bytes than the others for
all matrices of up to 65,536 columns, except in tiny batches. The matrices determine the work and the threads of a
block, and which blocks start first. The constants were the fastest of several on an H200.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_engine.batched import shared, sliced
from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.groups import ROW_WORK, SHARED_ELEMENTS, LaunchConfig, LaunchConfigs, on_host
from gpu_engine.batched.shared import SharedLayout, SharedStructure
from gpu_engine.batched.sliced import SOURCE, SlicedLayout
from gpu_engine.formats.base import array_module
from gpu_engine.host.jit import numba

BLOCKS_EACH = 4
"""Least blocks per multiprocessor; in a smaller batch matrices are cut until there are as many."""

FEWEST, MOST = 2**11, 5 * 2**14
"""Least and most work of a group: with less a block mostly waits for memory; with more y does not fit beside x."""

HEAVY = 2**15
"""Work of a matrix from which a block has 256 threads, which balances memory latency and synchronization."""

UNLIKE = 1.25
"""Ratio of largest to mean work from which blocks have 256 threads, because the largest would finish last."""

MOST_OF_FEW = 3 * 2**14
"""Most work of a block of 128 threads."""

NARROW = 2048
"""Columns up to which shared memory does not limit the number of resident blocks."""

SAVING = 0.75
"""Largest share of the bytes of columns and values, after deduplication, for which deduplication pays."""


@dataclass(frozen=True, slots=True)
class ProblemClass:
    """A class of matrices with equal block resources, and the reason for them."""

    name: str
    config: LaunchConfig
    reason: str


@dataclass(frozen=True, slots=True)
class Features:
    """Features that determine the resources: rows, columns and nonzeros per matrix, int64 [items] on the host."""

    rows: Any
    columns: Any
    entries: Any

    @property
    def work(self) -> Any:
        """Work per matrix: its nonzeros plus ROW_WORK per row; int64 [items]."""
        return self.entries + ROW_WORK * self.rows

    @staticmethod
    def of(batch: Batch) -> "Features":
        """Return the features of a batch."""
        return Features(*(np.diff(on_host(starts)) for starts in (batch.rows, batch.cols, batch.entries)))


def classify(features: Features, multiprocessors: int) -> tuple[tuple[ProblemClass, ...], Any]:
    """Return (classes of a batch, class of each matrix: int64 [items]); each class is one launch."""
    each = features.work
    total, largest = int(each.sum()), int(each.max(initial=0))
    share = min(max(total // (BLOCKS_EACH * multiprocessors), FEWEST), MOST)
    # Mean over the nonzeros of the work of their matrix.
    mean = int((each * each).sum()) / max(total, 1)
    # Light matrices need few threads; the largest of unequal ones finishes last; a part of a cut one has many rows.
    few = mean <= min(HEAVY, share) and largest <= UNLIKE * mean
    threads = 128 if few else 256
    kind = "small, similar, and uncut" if few else "large, unequal, or cut"
    filled = "the batch is large" if share == MOST else f"{BLOCKS_EACH} blocks per multiprocessor ({multiprocessors})"
    share = min(share, MOST_OF_FEW) if few else share
    work = f"At most {share:,} work units per group: {filled}. {threads} threads per block: matrices are {kind}"
    classes = (
        ProblemClass("narrow", LaunchConfig(work=share, threads=threads), f"At most {NARROW:,} columns. {work}."),
        ProblemClass(
            "wide",
            LaunchConfig(work=MOST, threads=512),
            f"At most {SHARED_ELEMENTS:,} columns: few windows of x fit a multiprocessor, so each serves many rows and "
            "512 threads.",
        ),
        ProblemClass(
            "far",
            LaunchConfig(work=share, threads=threads),
            f"More than {SHARED_ELEMENTS:,} columns: x stays in global memory. {work}.",
        ),
    )
    return classes, np.searchsorted([NARROW, SHARED_ELEMENTS], features.columns).astype(np.int64)


def launch_configs_of(batch: Batch) -> LaunchConfigs:
    """Return how the matrices of a batch are divided into groups, for the device of the batch."""
    features, multiprocessors = Features.of(batch), _multiprocessors(array_module(batch.rows))
    classes, kinds = classify(features, multiprocessors)
    # A large batch reads memory fastest in order; in a small one the last block determines the time.
    small = features.work.sum() < MOST * BLOCKS_EACH * multiprocessors
    configs, reasons = zip(
        *((problem_class.config, f"{problem_class.name}: {problem_class.reason}") for problem_class in classes),
        strict=True,
    )
    return LaunchConfigs(configs, kinds, largest_first=bool(small), reasons=reasons)


def _multiprocessors(xp: Any) -> int:
    """Return the multiprocessors of the GPU, or the threads of the CPU, that share the groups."""
    if xp is np:
        return int(numba.get_num_threads())
    return int(xp.cuda.Device().attributes["MultiProcessorCount"])


def remark(layout: SlicedLayout) -> str:
    """Return the reasons for the block resources, of each class that occurs."""
    used = [
        reason
        for reason, (begin, end) in zip(layout.configs.reasons, pairwise(layout.slices.kinds), strict=True)
        if begin < end
    ]
    return " ".join((*used, "Largest groups start first.")) if layout.configs.largest_first else " ".join(used)


def flexible(batch: Batch) -> SlicedLayout:
    """Return the sliced layout with groups chosen for the matrices."""
    return SlicedLayout.from_batch(batch, launch_configs_of(batch))


def once(batch: Batch) -> SlicedLayout | SharedLayout:
    """Return the deduplicated layout if it saves enough, else the sliced layout."""
    structure = SharedStructure.of(batch)
    return SharedLayout.from_structure(batch, structure) if structure.share <= SAVING else flexible(batch)


def _bytes_once(batch: Batch) -> int:
    """Return the bytes of the layout that `once` creates."""
    structure = SharedStructure.of(batch)
    return structure.nbytes if structure.share <= SAVING else sliced.bytes_needed(batch, launch_configs_of(batch))


def _moved_once(layout: SlicedLayout | SharedLayout) -> int:
    return shared.moved_bytes(layout) if isinstance(layout, SharedLayout) else sliced.moved_bytes(layout)


def _remark_once(layout: SlicedLayout | SharedLayout) -> str:
    return shared.remark(layout) if isinstance(layout, SharedLayout) else remark(layout)


def _cpu_once(layout: SlicedLayout | SharedLayout, x: Any, y: Any, adds: bool) -> None:
    if isinstance(layout, SharedLayout):
        shared.cpu(layout, x, y, adds)
    else:
        sliced.cpu(layout, x, y, adds)


def _cuda_once(layout: SlicedLayout | SharedLayout, x: Any, y: Any, adds: bool) -> None:
    if isinstance(layout, SharedLayout):
        shared.cuda(layout, x, y, adds)
    else:
        sliced.cuda(layout, x, y, adds)


FLEXIBLE = BatchKernel(
    name="auto/flexible",
    summary="sliced/lanes with group size and threads per block chosen by the matrices and the batch.",
    store=flexible,
    bytes_needed=lambda batch: sliced.bytes_needed(batch, launch_configs_of(batch)),
    cpu=sliced.cpu,
    cuda=sliced.cuda,
    source=SOURCE,
    moved_bytes=sliced.moved_bytes,
    remark=remark,
)
ONCE = BatchKernel(
    name="auto/shared",
    summary="sliced/shared if deduplication saves enough, else auto/flexible.",
    store=once,
    bytes_needed=_bytes_once,
    cpu=_cpu_once,
    cuda=_cuda_once,
    source=SOURCE,
    moved_bytes=_moved_once,
    remark=_remark_once,
)
KERNELS = (FLEXIBLE, ONCE)
