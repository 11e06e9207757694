"""Differences as a notebook shows them."""

from gpu_engine.verdicts.differences import Difference
from sparsight.tables import Differences


def test_differences_are_a_table_in_which_nothing_is_markup() -> None:
    known = Difference("<m>", "cpu", "warm", {}, "a", "b", 2e-3, 1e-3, "faster", 2.0, 'as "said"')
    none = Difference("n", "cpu", "cold", {}, "a", "b", None, 1e-3, "missing", None, "")
    shown = Differences([known, none])._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<td>&lt;m&gt;</td>" in shown
    assert "<td>2.000</td>" in shown
    assert shown.count("<td>–</td>") == 2
