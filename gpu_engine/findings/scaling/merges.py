"""Share of merging in the time on the matrix of Figure 19 of the MSREP paper."""

from collections.abc import Iterator

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, phases_of, share_of
from gpu_engine.findings.scaling.groups import WorkGroup, work_groups
from gpu_engine.findings.scaling.paper import FIGURE_19, paper_matrix
from gpu_engine.findings.scaling.series import option_text
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

HEADS = (
    Head("kernel", numeric=False),
    Head("devices"),
    Head("merge", "time"),
    Head("merge", "share"),
    Head("A/A gap"),
    Head("machine", numeric=False),
    Head("matrix", numeric=False),
)


def merge_shares(data: StudyData) -> Table:
    """Return a table with one row per strategy of the paper and number of devices; empty without FIGURE_19."""
    names = tuple(strategy.name for strategy in PAPER_STRATEGIES)
    groups = [group for group in work_groups(data, (COLD,)) if _is_figure_19(data.matrix(group.matrix_id).name)]
    return Table(HEADS, tuple(row for group in groups for row in _rows(group, data, names)))


def _is_figure_19(name: str) -> bool:
    known = paper_matrix(name)
    return known is not None and known.name == FIGURE_19


def _rows(group: WorkGroup, data: StudyData, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for series in group.series:
        for m in series.ranked if series.variant in names and not series.competitor else ():
            yield (
                ", ".join((series.kernel, *(option_text(name, value) for name, value in series.options))),
                units.count(m.details.devices),
                units.seconds(phases_of(m).get("merge")),
                units.percent(share_of(m, "merge")),
                units.percent(m.aa_gap),
                group.machine,
                data.matrix(group.matrix_id).name,
            )
