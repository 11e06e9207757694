"""The results in docs/spmm.md are those of the recording."""

from pathlib import Path
from statistics import geometric_mean

from gpu_engine.findings.spmm.groups import SpmmGroup, spmm_groups
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import BenchmarkData
from gpu_engine.gpu_bench.spmm import COLUMNS
from gpu_engine.recordings.files import RECORDED, read
from gpu_engine.text import units
from gpu_engine.text.units import THIN

DOCUMENT = (Path(__file__).parent.parent / "docs" / "spmm.md").read_text(encoding="utf-8")


def speedup(group: SpmmGroup) -> float | None:
    """The fastest library over the fastest kernel of Sparsight; None if they cannot be ranked."""
    mine, library = group.spmm, group.library
    if group.ranking.busy or not (mine and library and mine.median_s and library.median_s):
        return None
    return library.median_s / mine.median_s


def text(value: float | None) -> str:
    return "–" if value is None else units.ratio(value).replace(THIN, "")


def test_results_on_an_h100() -> None:
    data = BenchmarkData(BENCHMARKS["spmm"].subjects, read(RECORDED / "h100" / "spmm.json.gz"))
    groups = [group for group in spmm_groups(data.study) if group.library]
    rows = {(group.matrix_id, group.k): speedup(group) for group in groups if group.order == "row"}
    for name in dict.fromkeys(name for name, _ in rows):
        values = [rows.get((name, k)) for k in COLUMNS]
        mean = geometric_mean(value for value in values if value is not None)
        cells = [f"`{name}`", *map(text, (*values, mean))]
        assert f"| {' | '.join(cells)} |" in DOCUMENT
    columns = [value for group in groups if group.order == "column" and (value := speedup(group)) is not None]
    assert f"copies included: {text(geometric_mean(columns))}, lowest {text(min(columns))}." in DOCUMENT
