import dataclasses

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Trace
from gpu_engine.text.units import THIN
from tests.samples.formats import traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank.pull import FIRST, Pull, draw, info, summary, table

DATA = shown(*luxembourg())


def pulls(data: StudyData) -> dict[str, Pull]:
    return {pull.label: pull for panel in info(data).panels for own in panel.rows for pull in own}


def test_a_product_is_that_of_fp64_over_that_of_fewer_bits() -> None:
    assert {label: pull.speed_up for label, pull in pulls(DATA).items()} == {
        "csr/thread+cpms2 · 32 bit": pytest.approx(1 / 0.6),
        "csr/thread+cpms2 · 64 bit": pytest.approx(1.0),
        "csr/thread+cpms4 · 16 bit": pytest.approx(2.0),
        "csr/thread+cpms4 · 32 bit": pytest.approx(1 / 0.6),
        "csr/thread+cpms4 · 48 bit": pytest.approx(1 / 0.9),
        "csr/thread+cpms4 · 64 bit": pytest.approx(1.0),
    }


def test_iterations_that_raise_the_precision_do_not_count() -> None:
    assert [pull.iterations for label, pull in pulls(DATA).items() if "cpms2" in label] == [47, 65]
    assert pulls(DATA)["csr/thread+cpms4 · 32 bit"].iterations == 45


def test_the_bound_is_the_same_ratio_of_the_probes() -> None:
    pull = pulls(DATA)["csr/thread+cpms4 · 16 bit"]
    assert [pull.bound, pull.share] == pytest.approx([0.8 / 0.25, 2 / 3.2])
    silent = {key: Trace(t.case, {**t.arrays, "gather_s": (0.0,) * 113}) for key, t in DATA.traces.items()}
    without = dataclasses.replace(DATA, traces=silent)
    assert {(pull.bound, pull.share) for pull in pulls(without).values()} == {(None, None)}
    assert (len(traces(draw(info(DATA)), "gather_floor")), traces(draw(info(without)), "gather_floor")) == (1, [])
    assert "◇" in summary(info(DATA))
    assert "diamond" not in summary(info(without))


def test_bars_go_from_few_bits_to_many() -> None:
    bars = traces(draw(info(DATA)), "kernel")
    assert [bar["name"] for bar in bars] == ["16 bit", "32 bit", "48 bit", "64 bit"]
    assert bars[1]["y"] == ["csr/thread+cpms2 · 32 bit", "csr/thread+cpms4 · 32 bit"]


def test_the_table_has_a_row_a_run_and_precision() -> None:
    row = tuple(cell.replace(THIN, " ") for cell in table(info(DATA)).rows[0][2:])
    assert row == ("csr/thread+cpms2", "32 bit", "47", "600 µs", "1.67 ×", "2.67 ×", "62 %")


def test_the_summary_spans_the_matrices() -> None:
    other = ran("csr/thread+cpms2", (13, 15), matrix="del")
    twice = {**other[1].arrays, "pull_s": tuple(t / 2 for t in other[1].arrays["pull_s"])}
    fp64 = ran("csr/thread+fp64", 28, matrix="del")
    said = summary(info(shown(*luxembourg(), fp64, (other[0], Trace(other[1].case, twice))))).replace(THIN, " ")
    spans = "16 bit: 2.00 ×. 32 bit: 1.67 × to 3.33 ×. 48 bit: 1.11 ×. 64 bit: 1.00 × to 2.00 ×."
    assert said.removesuffix(FIRST).endswith(spans)


def test_a_first_launch_alone_is_named() -> None:
    assert FIRST in summary(info(DATA))
    full = ran("csr/thread+fp64", 113)
    assert FIRST not in summary(info(shown(full, ran("csr/thread+cpms4", (2, 45, 61, 5)))))
    assert FIRST not in summary(info(shown(full, ran("csr/thread+cpms2", (47, 66)))))
