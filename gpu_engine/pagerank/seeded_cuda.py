"""Ranks of several seed sets on a GPU: SeededBlock, with the kernels of seeded.cu.

An iteration has two kernels, or three if pages have more links than a segment of SpMM: the pull with the partial sums
of its blocks, the join of the long pages, and the addition of the partial sums in a fixed order. It allocates nothing
and does not wait. A launch has at most PARTS blocks along the pages on every GPU, so that all sums have the same order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import POINTERS, power_of_two
from gpu_engine.pagerank.cuda_pulls import NORMS
from gpu_engine.pagerank.extrapolation import PAIRS
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.run import PATIENCE
from gpu_engine.pagerank.seeded_block import SeededBlock
from gpu_engine.pagerank.seeds import Seeds
from gpu_engine.spmm.cuts import Cuts
from gpu_engine.spmm.groups import BLOCK, WARP, Groups, groups_for

PARTS, JOIN_PARTS, MOVE_BLOCKS = 4096, 1024, 4096
"""Most blocks of a pull and of a join along the pages, and of a move."""

COLUMNS_MAX = 32
"""COLUMNS_MAX of seeded.cu."""

DOT_PARTS = 512
"""Blocks that sum up dot products; their partial sums lie where those of a pull do."""

JOIN_COLUMNS = 8
"""Most columns of a warp that joins the segments of a page; its other lanes share the segments."""

SOURCE = CudaSource(
    __package__,
    "seeded.cu",
    (
        *(f"pull_columns<{v}, {p}, {valued}>" for v in (1, 2) for p in POINTERS for valued in ("false", "true")),
        *("join_columns", "settle_columns", "move_columns", "dot_columns", "combine_columns"),
    ),
)


class DeviceLinks(NamedTuple):
    """Links of a graph on a GPU: their segments, sources, and with weights values."""

    cuts: Cuts
    indices: Any
    values: Any

    @staticmethod
    def of(graph: TransitionMatrix, params: PageRankParams, xp: Any) -> "DeviceLinks":
        """Copy the links to the device of CuPy, `xp`."""
        pull = graph.pull
        values = pull.values if params.weights == "use" else pull.values[:0]
        links = CsrMatrix(pull.n_rows, pull.n_cols, pull.indptr, pull.indices, values).on(xp)
        return DeviceLinks(Cuts.of(links), links.indices, links.values)


class CudaBlock(SeededBlock):
    """Block on the current GPU; blocks of one graph may share their links."""

    def __init__(
        self, graph: TransitionMatrix, params: PageRankParams, seeds: Seeds, xp: Any, links: DeviceLinks | None = None
    ) -> None:
        """Store the graph on the device of CuPy, `xp`, unless its links are given."""
        super().__init__(graph, params, seeds, xp)
        self.links = DeviceLinks.of(graph, params, xp) if links is None else links
        self._cuts = self.links.cuts
        self._mean, self._links = self._cuts.mean, self.links[1:]
        self._long_sums = xp.empty(self._cuts.parts * self._k)
        self._partials = xp.empty(2 * self._k * (PARTS + JOIN_PARTS))
        self._launches: list[Callable[[], None]] = []
        self._settle: Callable[[], None] = lambda: None

    def pull(self) -> None:
        """Launch the pull and, if pages are long, the join."""
        self._launches[0]()
        self._launches.reverse()
        self._room.reverse()

    def settle(self) -> None:
        """Launch the addition of the partial sums."""
        self._settle()

    def _prepare(self) -> None:
        """Prepare the launches of an iteration from each of the two places to the other."""
        width, cuts = self.width, self._cuts
        groups = groups_for(width, self._cuts.count, self._mean, 2 - width % 2, columns=COLUMNS_MAX)
        columns = min(power_of_two(width), JOIN_COLUMNS)
        joins = Groups(1, columns, WARP // columns)
        count, rows = cuts.count, int(cuts.rows.size)
        grid, join_grid = _grid(groups, count, width, PARTS), _grid(joins, rows, width, JOIN_PARTS)
        parts = grid[0] + join_grid[0]
        places = self._ranks_in(0), self._ranks_in(1)
        ranks = [self._finish_arguments(*pair) for pair in (places, places[::-1])]
        kernel = SOURCE.function(f"pull_columns<{groups.vector}, {cuts.pointer}, {str(self._valued).lower()}>")
        join = SOURCE.function("join_columns")
        arrays = np.int32(count), cuts.begins, cuts.targets, *self._links, self._long_sums
        cut = np.int32(rows), cuts.rows, cuts.firsts, self._long_sums, np.int32(grid[0])

        def launch(arguments: tuple[Any, ...]) -> None:
            if count:
                kernel(grid, (BLOCK,), (*arrays, *self._lanes(groups, parts), *arguments))
            if rows:
                join(join_grid, (BLOCK,), (*cut, *self._lanes(joins, parts), *arguments))

        self._launches = [lambda: launch(ranks[0]), lambda: launch(ranks[1])]
        self._prepare_settle(parts)

    def _prepare_settle(self, parts: int) -> None:
        params, width = self._params, self.width
        rule = np.float64(params.damping), np.float64(params.dangling_factor), np.int32(NORMS[params.norm])
        ends = np.float64(params.epsilon), np.int32(PATIENCE)
        arguments = (np.int32(width), np.int32(parts), self._partials, *rule, *ends, *self._state_arguments())
        settle = SOURCE.function("settle_columns")
        self._settle = lambda: settle((width,), (BLOCK,), arguments)

    def _lanes(self, groups: Groups, parts: int) -> tuple[Any, ...]:
        """Return the arguments of the lanes and of the partial sums."""
        return *map(np.int32, (self.width, groups.width, groups.split, parts)), self._partials

    def _finish_arguments(self, q: Any, following: Any) -> tuple[Any, ...]:
        """Return the arguments from `pages` on, for ranks that are read and written."""
        sets, state, count = self._state_arguments()
        rule = np.float64(self._params.damping), np.int32(NORMS[self._params.norm])
        seeds = np.int32(self._seeds.pages.size), *self._teleport
        return (self._pages, q, following, *rule, sets, self._uniform, state, count, *seeds)

    def _state_arguments(self) -> tuple[Any, ...]:
        return self._sets, self._state, np.int32(self._k)

    def _dots(self, iterates: tuple[Any, ...]) -> Any:
        sums = self._partials[: len(PAIRS) * self.width * DOT_PARTS].reshape(len(PAIRS), self.width, DOT_PARTS)
        shape = np.int32(self._n), np.int32(self.width)
        SOURCE.function("dot_columns")((DOT_PARTS,), (BLOCK,), (*shape, *iterates, sums))
        return sums.sum(axis=2).get()

    def _combine(self, combination: Any, iterates: tuple[Any, ...]) -> None:
        elements = int(iterates[-1].size)
        if elements:
            blocks = min(-(-elements // BLOCK), MOVE_BLOCKS)
            arguments = np.int64(elements), np.int32(self.width), self._xp.asarray(combination), *iterates
            SOURCE.function("combine_columns")((blocks,), (BLOCK,), arguments)

    def _move(self, ranks: Any, remaining: Any, targets: Any) -> None:
        elements = int(ranks.size)
        if elements:
            blocks = min(-(-elements // BLOCK), MOVE_BLOCKS)
            shape = np.int64(elements), np.int32(ranks.shape[1]), np.int32(remaining.shape[1])
            arrays = self._pages, ranks, remaining, self._out, np.int32(self._k), targets
            SOURCE.function("move_columns")((blocks,), (BLOCK,), (*shape, *arrays))

    def _on_host(self, array: Any) -> Any:
        return array.get()


def _grid(groups: Groups, rows: int, width: int, most: int) -> tuple[int, int]:
    """Return the blocks along the pages, at most `most`, and along the columns."""
    blocks, tiles = groups.grid(rows, width)
    return min(blocks, most), tiles
