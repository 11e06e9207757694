"""Auto: the resources of a block by what its problems need, where the paper gives every problem the same (§3.2).

The layout is always the sliced one: with 16-bit columns and 4 bytes a row it moves fewer bytes than the others on all
problems of up to 65,536 columns but tiny batches. What depends on the problems is how much one block takes, how many
threads it has, and which blocks start first. The constants are the best of those tried on an H200.
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
"""Blocks that a multiprocessor should get at least: a smaller batch has its problems cut until there are as many."""

FEWEST, MOST = 2**11, 5 * 2**14
"""Work of a group: below, a block waits for memory longer than it multiplies; above, y does not fit beside x."""

HEAVY = 2**15
"""Work of a problem from which a block has 256 threads: fewer leave it waiting, more wait for each other."""

UNLIKE = 1.25
"""Largest over mean work of the problems from which blocks have 256 threads: the largest would end long after all."""

MOST_OF_FEW = 3 * 2**14
"""Most work of a block of 128 threads."""

NARROW = 2048
"""Columns up to which shared memory holds the windows of as many blocks as the registers allow."""

SAVING = 0.75
"""Share of the bytes of columns and values up to which storing them once is worth its tasks and larger groups."""


@dataclass(frozen=True, slots=True)
class ProblemClass:
    """A class of problems that are served alike, and why."""

    name: str
    config: LaunchConfig
    reason: str


@dataclass(frozen=True, slots=True)
class Features:
    """What is chosen by: rows, columns and entries of each problem, int64 [problems] on the host."""

    rows: Any
    columns: Any
    entries: Any

    @property
    def work(self) -> Any:
        """What each problem is to a block: its entries, and ROW_WORK a row; int64 [problems]."""
        return self.entries + ROW_WORK * self.rows

    @staticmethod
    def of(batch: Batch) -> "Features":
        """The sizes of the problems of a batch."""
        return Features(*(np.diff(on_host(starts)) for starts in (batch.rows, batch.cols, batch.entries)))


def classify(features: Features, multiprocessors: int) -> tuple[tuple[ProblemClass, ...], Any]:
    """(the classes of a batch, the class of each problem: int64 [problems]); a launch each."""
    each = features.work
    total, largest = int(each.sum()), int(each.max(initial=0))
    share = min(max(total // (BLOCKS_EACH * multiprocessors), FEWEST), MOST)
    # Of the problem that an entry is in, in the mean.
    mean = int((each * each).sum()) / max(total, 1)
    # Few threads serve light problems; of unlike ones the largest ends last; a part of a cut one has many rows.
    few = mean <= min(HEAVY, share) and largest <= UNLIKE * mean
    threads = 128 if few else 256
    kind = "light, alike and whole" if few else "heavy, unlike or cut"
    filled = "the batch is large" if share == MOST else f"each of {multiprocessors} processors has {BLOCKS_EACH}"
    share = min(share, MOST_OF_FEW) if few else share
    work = f"At most {share} in work a group, so that {filled}. {threads} threads a block, for problems are {kind}"
    classes = (
        ProblemClass("narrow", LaunchConfig(work=share, threads=threads), f"At most {NARROW} columns. {work}."),
        ProblemClass(
            "wide",
            LaunchConfig(work=MOST, threads=512),
            f"At most {SHARED_ELEMENTS} columns: few windows of x fit a processor, so each serves many rows and 512 "
            "threads.",
        ),
        ProblemClass(
            "far",
            LaunchConfig(work=share, threads=threads),
            f"More than {SHARED_ELEMENTS} columns: x stays in global memory. {work}.",
        ),
    )
    return classes, np.searchsorted([NARROW, SHARED_ELEMENTS], features.columns).astype(np.int64)


def launch_configs_of(batch: Batch) -> LaunchConfigs:
    """How the problems of a batch are cut into groups, for the device where it lies."""
    features, multiprocessors = Features.of(batch), _multiprocessors(array_module(batch.rows))
    classes, kinds = classify(features, multiprocessors)
    # A large batch reads memory best in order; of a small one the last block decides.
    small = features.work.sum() < MOST * BLOCKS_EACH * multiprocessors
    configs, reasons = zip(
        *((problem_class.config, f"{problem_class.name}: {problem_class.reason}") for problem_class in classes),
        strict=True,
    )
    return LaunchConfigs(configs, kinds, largest_first=bool(small), reasons=reasons)


def _multiprocessors(xp: Any) -> int:
    """Multiprocessors of the GPU, or threads of the CPU, that share the groups."""
    if xp is np:
        return int(numba.get_num_threads())
    return int(xp.cuda.Device().attributes["MultiProcessorCount"])


def remark(layout: SlicedLayout) -> str:
    """Why the blocks are as they are: of each class that has any."""
    used = [
        reason
        for reason, (begin, end) in zip(layout.configs.reasons, pairwise(layout.slices.kinds), strict=True)
        if begin < end
    ]
    return " ".join((*used, "The largest start first.")) if layout.configs.largest_first else " ".join(used)


def flexible(batch: Batch) -> SlicedLayout:
    """Slices in groups that fit the problems."""
    return SlicedLayout.from_batch(batch, launch_configs_of(batch))


def once(batch: Batch) -> SlicedLayout | SharedLayout:
    """What problems share stored once, if that saves enough; slices in fitting groups else."""
    structure = SharedStructure.of(batch)
    return SharedLayout.from_structure(batch, structure) if structure.share <= SAVING else flexible(batch)


def _bytes_once(batch: Batch) -> int:
    """Bytes of the layout that `once` makes."""
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
    summary="As sliced/lanes, with the size of groups and the threads of a block by the problems and the batch.",
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
    summary="As sliced/shared where problems share enough to gain by it, else as auto/flexible.",
    store=once,
    bytes_needed=_bytes_once,
    cpu=_cpu_once,
    cuda=_cuda_once,
    source=SOURCE,
    moved_bytes=_moved_once,
    remark=_remark_once,
)
KERNELS = (FLEXIBLE, ONCE)
