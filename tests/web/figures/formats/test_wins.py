from gpu_engine.findings.data import StudyData
from tests.samples.formats import timed, traces, untimed
from web.figures.formats.wins import draw, info, summary, table

INFO = info(
    StudyData(
        [
            timed("csr/vector", 1e-3, matrix="m1"),
            timed("ell/thread", 2e-3, matrix="m1"),
            timed("csr/vector", 1e-3, matrix="m2"),
            timed("csr/scalar", 1e-3, matrix="m2"),
            timed("ell/thread", 1.002e-3, matrix="m2"),
            timed("csr/vector", 3e-3, matrix="m3"),
            timed("ell/thread", 1e-3, matrix="m3"),
            untimed("csr/vector", "failed", "", matrix="m4"),
        ]
    )
)


def test_a_format_is_the_best_alone_or_tied() -> None:
    (panel,) = INFO.panels
    assert panel.matrices == 3, "one without a time does not count"
    assert (panel.alone, panel.tied) == ({"csr": 1, "ell": 1}, {"csr": 1, "ell": 1})


def test_a_matrix_of_a_busy_machine_does_not_count() -> None:
    busy = info(StudyData([timed(k, 1e-3, ci_low_s=1e-4, ci_high_s=1e-2) for k in ("csr/vector", "ell/thread")]))
    assert busy.panels == ()


def test_bars_and_cells_are_shares_of_the_matrices() -> None:
    alone, tied = traces(draw(INFO), "kernel")
    assert (alone["x"], tied["x"]) == ([1 / 3, 1 / 3], [1 / 3, 1 / 3])
    assert tied["opacity"] < alone["opacity"]
    assert table(INFO).rows[0][:4] == ("csr", "cpu", "warm", "3")
    assert "csr is most often the only fastest format: 33\u202f% of 3 matrices. Ties: 33\u202f%." in summary(INFO)
