from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.merges import merge_shares
from gpu_engine.text.units import THIN
from tests.samples.scaling import MATRICES, by_cusparse, cold, product, shown

FIGURE_19 = replace(MATRICES["web"], name="HV15R (stand-in)")


def test_the_matrix_of_figure_19_has_its_merges_by_strategy_and_devices() -> None:
    gathered = product("pCSC/p*-opt", 4, (0.02, 0.05, 0.02, 0.01), "fem", options={"merge": "gather"})
    found = [*cold("fem"), gathered, *by_cusparse(cold("fem"), 1.0), *cold("web")]
    ours = product("pCSR/p*-pipelined", 4, (0.02, 0.05, 0.02, 0.01), "fem")
    table = merge_shares(StudyData([*found, ours], MATRICES | {"fem": FIGURE_19}))
    assert {row[-1] for row in table.rows} == {"HV15R (stand-in)"}
    rows = [tuple(cell.replace(THIN, " ") for cell in row[:-2]) for row in table.rows]
    assert len(rows) == 3 * 3 + 1, "neither cuSPARSE nor strategies of Sparsight"
    assert rows[-1] == ("pCSC/p*-opt, merge gather", "4", "10.0 ms", "10 %", "0.1 %")
    assert rows[2] == ("pCSR/baseline, merge host", "4", "8.00 ms", "10 %", "0.1 %")


def test_other_matrices_have_none() -> None:
    assert merge_shares(shown(*cold())).rows == ()
