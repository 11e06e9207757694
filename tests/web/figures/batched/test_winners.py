from tests.web.batch_samples import copies, mixed, multiplied, refused, shown
from tests.web.samples import titles, traces
from web.figures.batched.marks import NO_TIME
from web.figures.batched.winners import SIZE, WINNER_SIZE, draw, summary, table
from web.palette import batch_style
from web.shown import MatrixFeatures, Shown
from web.units import THIN

FOUND = shown(
    *copies("nos3"),
    *copies("west"),
    multiplied("ell/thread", 90.0, 1000, "r2"),
    multiplied("csr/smart", 30.0, 1000, "r2"),
    *mixed("west", "nos3"),
)


def test_matrices_ascend_by_mean_row_length_and_the_fastest_is_larger() -> None:
    figure = draw(FOUND)
    assert list(figure.layout.yaxis.categoryarray) == ["rows_2", "west0989", "nos3"]
    marks = {mark["name"]: mark for mark in traces(figure, "point")}
    ell = marks["ell/thread"]
    assert dict(zip(ell["y"], ell["x"], strict=True)) == {"rows_2": 90.0, "west0989": 20.0, "nos3": 20.0}
    assert dict(zip(ell["y"], ell["marker"]["size"], strict=True)) == {
        "rows_2": WINNER_SIZE,
        "west0989": SIZE,
        "nos3": SIZE,
    }
    assert set(marks["auto/shared"]["marker"]["size"]) == {WINNER_SIZE}
    assert ell["marker"]["color"] == batch_style("ell/thread").color
    assert [name for name in marks if name.startswith("cusparse")] == list(marks)[:2], "libraries lie behind our own"


def test_sizes_have_panels_of_their_own_and_one_can_be_chosen() -> None:
    found = [*copies("nos3", problems=100), *copies("nos3", problems=1000), *copies("west", problems=100)]
    assert [title.replace(THIN, " ") for title in titles(draw(shown(*found)))] == [
        "1 000 problems · cuda:0 · warm",
        "100 problems · cuda:0 · warm",
    ]
    assert [row[0] for row in table(shown(*found)).rows] == ["nos3", "west0989"]
    chosen = shown(*found, batch=100)
    assert [(row[0], row[3]) for row in table(chosen).rows] == [("west0989", "100"), ("nos3", "100")]


def test_the_table_says_who_wins_and_by_how_much() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(FOUND).rows]
    assert rows[0][:9] == ("rows_2", "cuda:0", "warm", "1 000", "2.00", "0", "balanced", "ell/thread", "90.0")
    assert rows[0][9:] == ("36 %", "ell/thread", "1.00 ×", "–", "–")
    assert rows[1][6:] == (
        *("unbalanced", "auto/shared", "125", "50 %"),
        *("coo/segmented", "1.25 ×", "cusparse/best", "2.00 ×"),
    )


def test_the_summary_counts_the_winners() -> None:
    assert (
        summary(FOUND)
        .replace(THIN, " ")
        .endswith("Fastest on cuda:0, warm, of 3 matrices with 1 000 problems: auto/shared on 2 and ell/thread on 1.")
    )


def test_matrices_of_one_name_have_rows_of_their_own() -> None:
    twins = {"a0001": MatrixFeatures("twin", ave=1.0), "a0002": MatrixFeatures("twin", ave=2.0)}
    found = Shown([multiplied("csr/smart", 1.0, matrix=matrix) for matrix in twins], twins)
    assert list(draw(found).layout.yaxis.categoryarray) == ["twin", "twin (0002)"]


def test_no_results() -> None:
    for found in (Shown(), shown(refused("csr/smart", "no")), shown(*mixed("west", "d2"))):
        assert titles(draw(found)) == [NO_TIME]
        assert (table(found).rows, summary(found)) == ((), NO_TIME)
