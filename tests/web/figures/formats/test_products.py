from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import timed, traces, untimed
from web.figures.formats.groups import NO_QUIET
from web.figures.formats.products import PRODUCTS, SLIDER_START, draw, info, summary, table


def quick(kernel: str, median_s: float, **fields: Any) -> Measurement:
    """Return a kernel that no probe beats."""
    return timed(kernel, median_s, **({"roofline_s": 1e-5, "gather_probe_s": 1e-5} | fields))


RECORDS = [
    quick("csr/vector", 1e-3, convert_s=0.0),
    quick("ell/thread", 0.5e-3, convert_s=0.01),
    quick("jad/thread", 0.25e-3, convert_s=0.02, reorder_s=0.08),
    quick("csr/vector", 1e-3, matrix="m2", convert_s=0.0),
    untimed("ell/thread", "skipped", "needs 41 GB", matrix="m2"),
    quick("hyb/two", 1e-4, matrix="m2", convert_s=None),
]
INFO = info(StudyData(RECORDS))


def test_a_kernel_is_chosen_by_conversion_order_and_products_together() -> None:
    (panel,) = INFO.panels
    means = {kernel: [choice.mean for choice in choices] for kernel, choices in panel.choices.items()}
    assert set(means) == {"csr/vector", "ell/thread", "jad/thread"}, "a conversion that is not known is no choice"
    assert means["csr/vector"][0] == 1.0
    at_1000 = {"csr/vector": 1.0 / 0.35, "ell/thread": 0.51 / 0.35, "jad/thread": 1.0}
    others = {"csr/vector": 1.0, "ell/thread": 4.0, "jad/thread": 4.0}
    for kernel, factor in at_1000.items():
        assert means[kernel][PRODUCTS.index(1_000)] == pytest.approx((factor * others[kernel]) ** 0.5)
    assert [panel.choices["csr/vector"][n].best for n in (0, SLIDER_START)] == [2, 1]


def test_the_slider_says_what_to_choose_and_moves_the_bars() -> None:
    figure = draw(INFO)
    (bars,) = traces(figure, "kernel")
    steps = figure.layout.sliders[0].steps
    assert [step.label.replace(THIN, " ") for step in steps][:4] == ["1", "10", "100", "200"]
    change, titles = steps[SLIDER_START].args
    assert change["x"] == [bars["x"]]
    assert titles["annotations[0].text"] == figure.layout.annotations[0].text
    assert "SpMVs: <b>csr/vector</b>" in steps[0].args[1]["annotations[0].text"]
    assert steps[0].args[0]["x"] != change["x"]


def test_the_table_and_the_sentence_have_every_number_of_products() -> None:
    assert len(table(INFO).heads) == 4 + len(PRODUCTS)
    row = next(row for row in table(INFO).rows if row[0] == "csr/vector")
    assert row[4].replace(THIN, " ") == "1.00 × (100 %)"
    assert "over 2 matrices: csr/vector for any n." in summary(INFO)


def test_a_matrix_of_a_busy_machine_is_left_out() -> None:
    busy = [quick(kernel, 1e-3, matrix="m3", aa_gap=0.9) for kernel in ("csr/vector", "ell/thread")]
    found = info(StudyData([*RECORDS, *busy]))
    assert (found.panels[0].choices, found.panels[0].matrices) == (INFO.panels[0].choices, 2)
    assert "over 2 matrices (1 more was too noisy): csr/vector" in summary(found)
    assert summary(info(StudyData(busy))) == NO_QUIET
