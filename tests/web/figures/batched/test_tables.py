from tests.web.batch_samples import copies, multiplied, refused, shown
from web.figures.batched.tables import kernels
from web.shown import Shown
from web.units import THIN


def test_every_kernel_has_a_row_against_the_best_library() -> None:
    found = kernels(shown(*copies(), refused("cusparse/branches", "one launch a problem")))
    rows = {row[4]: tuple(cell.replace(THIN, " ") for cell in row[5:]) for row in found.rows}
    assert next(iter(rows)) == "auto/shared"
    assert rows["coo/segmented"] == (
        *("100", "10.0 µs", "9.99 µs – 10.0 µs", "40 %", "1.60 ×", "faster", "6.00 MB", "800 GB/s"),
        *("100 µs", "0.500", ""),
    )
    assert rows["cusparse/best"][4:6] == ("1.00 ×", "baseline")
    assert rows["csr/scalar"][8] == "none"
    assert rows["cusparse/branches"] == (*("–",) * 5, "skipped", *("–",) * 4, "one launch a problem")


def test_without_a_library_there_is_no_verdict() -> None:
    (row,) = kernels(shown(multiplied("csr/smart", 1.0))).rows
    assert row[9:11] == ("–", "–")
    assert kernels(Shown()).rows == ()
