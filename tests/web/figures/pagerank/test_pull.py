import dataclasses

import pytest

from gpu_engine.records import Trace
from tests.web.run_samples import luxembourg, ran, shown
from tests.web.samples import titles, traces
from web.figures.pagerank.pull import draw, summary, table
from web.shown import Shown
from web.units import THIN


def test_a_bar_is_the_product_of_fp64_over_that_of_fewer_bits() -> None:
    bars = {
        bar["name"]: dict(zip(bar["y"], bar["x"], strict=True)) for bar in traces(draw(shown(*luxembourg())), "kernel")
    }
    assert bars == {
        "16 bit": {"csr/thread+cpms4 · 16 bit": pytest.approx(2.0)},
        "32 bit": {
            "csr/thread+cpms2 · 32 bit": pytest.approx(1 / 0.6),
            "csr/thread+cpms4 · 32 bit": pytest.approx(1 / 0.6),
        },
        "48 bit": {"csr/thread+cpms4 · 48 bit": pytest.approx(1 / 0.9)},
        "64 bit": {
            "csr/thread+cpms2 · 64 bit": pytest.approx(1.0),
            "csr/thread+cpms4 · 64 bit": pytest.approx(1.0),
        },
    }


def test_iterations_that_raise_the_precision_do_not_count() -> None:
    rows = {row[2:4]: row[4] for row in table(shown(*luxembourg())).rows}
    assert rows[("csr/thread+cpms2", "32 bit")] == "47"
    assert rows[("csr/thread+cpms2", "64 bit")] == "65"
    assert rows[("csr/thread+cpms4", "32 bit")] == "45"


def test_the_bound_is_the_same_ratio_of_the_probes() -> None:
    (bound,) = traces(draw(shown(*luxembourg())), "gather_floor")
    assert dict(zip(bound["y"], bound["x"], strict=True))["csr/thread+cpms4 · 16 bit"] == pytest.approx(0.8 / 0.25)
    rows = {row[2:4]: tuple(cell.replace(THIN, " ") for cell in row[5:]) for row in table(shown(*luxembourg())).rows}
    assert rows[("csr/thread+cpms2", "32 bit")] == ("600 µs", "1.67 ×", "2.67 ×", "62 %")


def test_without_probes_there_is_no_bound() -> None:
    found = shown(*luxembourg())
    silent = {key: Trace(t.case, {**t.arrays, "gather_s": (0.0,) * 113}) for key, t in found.traces.items()}
    without = dataclasses.replace(found, traces=silent)
    assert traces(draw(without), "gather_floor") == []
    assert {row[7:] for row in table(without).rows} == {("–", "–")}
    assert "diamond" in summary(found)
    assert "diamond" not in summary(without)


def test_the_summary_spans_the_matrices() -> None:
    other = ran("csr/thread+cpms2", (13, 15), matrix="del")
    twice = {**other[1].arrays, "pull_s": tuple(t / 2 for t in other[1].arrays["pull_s"])}
    fp64 = ran("csr/thread+fp64", 28, matrix="del")
    said = summary(shown(*luxembourg(), fp64, (other[0], Trace(other[1].case, twice)))).replace(THIN, " ")
    assert said.endswith("16 bit: 2.00 ×. 32 bit: 1.67 × to 3.33 ×. 48 bit: 1.11 ×. 64 bit: 1.00 × to 2.00 ×.")


def test_no_results() -> None:
    nothing = "No run with segments has iterations beside a run of the same kernel in fp64."
    for found in (Shown(), shown(ran("csr/thread+cpms2", (13, 15))), shown(ran("csr/thread+fp64", 28))):
        assert titles(draw(found)) == [nothing]
        assert (table(found).rows, summary(found)) == ((), nothing)
