from tests.web.batch_samples import copies, mixed, multiplied, shown
from tests.web.samples import titles, traces
from web.figures.batched.density import NO_FAMILY, draw, families, summary, table
from web.shown import Shown
from web.units import THIN

FOUND = shown(
    multiplied("csr/vector", 60.0, 1000, "r16"),
    multiplied("csr/vector", 20.0, 1000, "r2"),
    multiplied("csr/scalar", 50.0, 1000, "r2"),
    *copies("d2"),
    *copies("d32"),
    *copies("west"),
    *copies("nos3"),
    *mixed("r2", "r16"),
)


def test_balanced_and_unbalanced_matrices_of_one_size_have_panels_of_their_own() -> None:
    assert [title.replace(THIN, " ") for title in titles(draw(FOUND))] == [
        "1 024 rows, balanced · cuda:0 · warm",
        "1 024 rows, unbalanced · cuda:0 · warm",
    ]
    assert [[group.matrix_id for group in groups] for groups in families(FOUND).values()] == [
        ["r2", "r16"],
        ["d2", "d32"],
    ]


def test_a_line_is_a_kernel_over_the_mean_row_length() -> None:
    lines = {line["name"]: line for line in traces(draw(FOUND), "point") if line["xaxis"] == "x"}
    assert (lines["csr/vector"]["x"], lines["csr/vector"]["y"]) == ([2.0, 16.0], [20.0, 60.0])
    assert (lines["csr/scalar"]["x"], lines["csr/scalar"]["y"]) == ([2.0], [50.0])
    layout = draw(FOUND).layout
    assert (layout.xaxis.type, layout.xaxis2.title.text, layout.yaxis.title.text) == (
        "log",
        "mean row length",
        "GFLOP/s",
    )


def test_the_table_has_a_column_a_kernel() -> None:
    found = table(shown(*(m for m in FOUND.measurements if m.matrix_id in ("r2", "r16"))))
    assert [(head.text, head.unit) for head in found.heads[-2:]] == [
        ("csr/scalar", "GFLOP/s"),
        ("csr/vector", "GFLOP/s"),
    ]
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in found.rows]
    assert rows[0] == ("rows_2", "cuda:0", "warm", "balanced", "1 000", "1 024", "2.00", "0", "50.0", "20.0")
    assert rows[1][-2:] == ("–", "60.0")


def test_batches_of_different_sizes_share_no_line() -> None:
    found = [multiplied("csr/vector", 1.0, size, matrix) for matrix, size in (("r2", 10), ("r16", 10), ("r16", 100))]
    assert titles(draw(shown(*found))) == [NO_FAMILY]
    chosen = shown(*found, batch=10)
    assert [family.problems for family in families(chosen)] == [10]
    assert summary(chosen).endswith("Batches of 10.")


def test_no_results() -> None:
    for found in (Shown(), shown(*copies("west"), *copies("nos3"))):
        assert titles(draw(found)) == [NO_FAMILY]
        assert (table(found).rows, summary(found)) == ((), NO_FAMILY)
