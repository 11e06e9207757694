import dataclasses

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import traces
from tests.samples.pagerank import CHANGE_S, PULL_S, SETTLE_S, luxembourg, ran, shown
from web.figures.pagerank.breakdown import draw, info, table

FP64_S = 113 * (PULL_S[0] + SETTLE_S)
INFO = info(shown(*luxembourg()))


def parts(data: StudyData) -> dict[str, dict[str, float]]:
    """Return run → precision → its time over that in fp64."""
    return {row.label: {k.name: v for k, v in row.parts.items()} for panel in info(data).panels for row in panel.rows}


def test_parts_are_the_time_over_that_of_fp64() -> None:
    own = parts(shown(*luxembourg()))
    assert own["csr/thread+fp64"] == {"64 bit": pytest.approx(1.0)}
    # The iteration that raises the precision reads 32 bits and counts as one of 64.
    assert own["csr/thread+cpms2"] == {
        "32 bit": pytest.approx(47 * (PULL_S[32] + SETTLE_S) / FP64_S),
        "64 bit": pytest.approx((PULL_S[32] + 65 * PULL_S[64] + 66 * SETTLE_S) / FP64_S),
        "change": pytest.approx(2 * CHANGE_S / FP64_S),
    }
    assert own["csr/thread+cpms4"]["change"] == pytest.approx(4 * CHANGE_S / FP64_S)


def test_parts_together_are_the_medians_of_whole_runs() -> None:
    (panel,) = info(shown(ran("csr/thread+fp64", 113, 0.2), ran("csr/thread+cpms2", (47, 66), 0.15))).panels
    assert [row.total for row in panel.rows] == pytest.approx([1.0, 0.75])


def test_each_format_has_its_own_fp64() -> None:
    data = shown(
        ran("csr/thread+fp64", 28, 0.2),
        ran("ell/thread+fp64", 28, 0.1),
        ran("ell/thread+fp32", 28, 0.08),
        ran("jad/thread+fp32", 28, 0.01),
    )
    own = {run: sum(split.values()) for run, split in parts(data).items()}
    assert own == pytest.approx({"csr/thread+fp64": 1.0, "ell/thread+fp64": 1.0, "ell/thread+fp32": 0.8})


def test_the_papers_kernels_have_their_own_fp64() -> None:
    data = shown(
        ran("csr/thread+fp64", 28, 0.1),
        ran("csr/thread+unfused-fp64", 28, 0.2),
        ran("csr/thread+unfused-cpms2", (13, 15), 0.18),
    )
    own = parts(data)
    assert {run: sum(split.values()) for run, split in own.items()} == pytest.approx(
        {"csr/thread+fp64": 1.0, "csr/thread+unfused-fp64": 1.0, "csr/thread+unfused-cpms2": 0.9}
    )
    assert own["csr/thread+unfused-cpms2"]["change"] > 0.1


def test_a_refinement_has_passes_in_few_bits_and_corrections() -> None:
    m, trace = ran("sellp/thread+ir32", (103, 3))
    arrays = {**trace.arrays, "correct_s": tuple(CHANGE_S if at in (60, 105) else 0.0 for at in range(106))}
    own = parts(shown(ran("sellp/thread+pattern", 106), (m, dataclasses.replace(trace, arrays=arrays))))
    assert list(own["sellp/thread+ir32"]) == ["32 bit", "64 bit", "change"]


def test_bars_are_stacked_from_few_bits_to_many() -> None:
    figure = draw(INFO)
    assert [bar["name"] for bar in traces(figure, "kernel")] == ["16 bit", "32 bit", "48 bit", "64 bit", "change"]
    assert figure.layout.barmode == "stack"


def test_the_table_has_shares_of_a_run() -> None:
    rows = {row[2]: tuple(cell.replace(THIN, " ") for cell in row[3:]) for row in table(INFO).rows}
    assert rows["csr/thread+cpms2"] == ("109 ms", "88 %", "–", "30 %", "–", "66 %", "–", "3.7 %")
