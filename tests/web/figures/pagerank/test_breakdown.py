import pytest

from tests.web.run_samples import CHANGE_S, PULL_S, SETTLE_S, luxembourg, ran, shown
from tests.web.samples import titles, traces
from web.figures.pagerank.breakdown import draw, summary, table
from web.shown import Shown
from web.units import THIN

FP64_S = 113 * (PULL_S[0] + SETTLE_S)


def lengths(found: Shown) -> dict[str, dict[str, float]]:
    """Precision → run → the length of its bar."""
    return {bar["name"]: dict(zip(bar["y"], bar["x"], strict=True)) for bar in traces(draw(found), "kernel")}


def test_parts_are_the_time_over_that_of_fp64() -> None:
    parts = lengths(shown(*luxembourg()))
    assert list(parts) == ["16 bit", "32 bit", "48 bit", "64 bit", "change"]
    assert parts["64 bit"]["csr/thread+fp64"] == pytest.approx(1.0)
    cpms2 = "csr/thread+cpms2"
    # The iteration that raises the precision reads 32 bits and counts as one of 64.
    assert parts["32 bit"][cpms2] == pytest.approx(47 * (PULL_S[32] + SETTLE_S) / FP64_S)
    assert parts["64 bit"][cpms2] == pytest.approx((PULL_S[32] + 65 * PULL_S[64] + 66 * SETTLE_S) / FP64_S)
    assert parts["change"][cpms2] == pytest.approx(2 * CHANGE_S / FP64_S)
    assert parts["change"]["csr/thread+cpms4"] == pytest.approx(4 * CHANGE_S / FP64_S)


def test_bars_are_as_long_as_the_medians_of_whole_runs() -> None:
    found = shown(ran("csr/thread+fp64", 113, 0.2), ran("csr/thread+cpms2", (47, 66), 0.15))
    parts = lengths(found)
    assert sum(part.get("csr/thread+cpms2", 0.0) for part in parts.values()) == pytest.approx(0.75)


def test_each_format_has_its_own_fp64() -> None:
    found = shown(
        ran("csr/thread+fp64", 28, 0.2),
        ran("ell/thread+fp64", 28, 0.1),
        ran("ell/thread+fp32", 28, 0.08),
        ran("jad/thread+fp32", 28, 0.01),
    )
    parts = lengths(found)
    assert parts["64 bit"] == pytest.approx({"csr/thread+fp64": 1.0, "ell/thread+fp64": 1.0})
    assert parts["IEEE fp32"] == pytest.approx({"ell/thread+fp32": 0.8})


def test_the_table_has_shares_of_a_run() -> None:
    rows = {row[2]: tuple(cell.replace(THIN, " ") for cell in row[3:]) for row in table(shown(*luxembourg())).rows}
    assert rows["csr/thread+cpms2"] == ("109 ms", "88 %", "–", "30 %", "–", "66 %", "–", "3.7 %")
    assert rows["csr/thread+fp64"] == ("124 ms", "100 %", "–", "–", "–", "100 %", "–", "–")


def test_no_results() -> None:
    nothing = "No run has a time in phases beside a run of the same kernel in fp64."
    for found in (Shown(), shown(ran("csr/thread+cpms2", (13, 15)))):
        assert titles(draw(found)) == [nothing]
        assert (table(found).rows, summary(found)) == ((), nothing)
