import pytest

from tests.web.batch_samples import copies, mixed, multiplied, refused, shown
from tests.web.samples import titles, traces
from web.figures.batched.growth import ONE_SIZE, PANELS_MAX, draw, summary, table
from web.shown import MatrixFeatures, Shown
from web.units import THIN

FOUND = shown(
    multiplied("csr/smart", 10.0, 10),
    multiplied("csr/smart", 40.0, 100),
    multiplied("csr/smart", 80.0, 1000),
    multiplied("cusparse/chain", 4.0, 10),
    multiplied("cusparse/chain", 5.0, 100),
    refused("cusparse/chain", "too many", 1000),
    *copies("nos3"),
)


def test_a_line_is_a_kernel_over_the_sizes_that_it_has() -> None:
    lines = {line["name"]: line for line in traces(draw(FOUND), "point")}
    assert (lines["csr/smart"]["x"], lines["csr/smart"]["y"]) == ([10, 100, 1000], [10.0, 40.0, 80.0])
    assert lines["cusparse/chain"]["x"] == [10, 100]
    assert list(lines) == ["cusparse/chain", "csr/smart"], "the library lies behind our own"


def test_the_dotted_line_is_the_rate_of_the_floor() -> None:
    (floor,) = traces(draw(FOUND), "roof")
    assert (floor["x"], floor["y"], floor["line"]["dash"]) == ([10, 100, 1000], pytest.approx([250.0] * 3), "dot")


def test_the_axes_and_panels() -> None:
    layout = draw(FOUND).layout
    assert (layout.xaxis.type, layout.yaxis.title.text) == ("log", "GFLOP/s")
    assert layout.xaxis.title.text == "problems of a batch"
    both = [multiplied("csr/smart", 1.0, size, device=device) for device in ("cpu", "cuda:0") for size in (1, 2)]
    mix = [*mixed("west", "d2", problems=10), *mixed("west", "d2", problems=100)]
    assert titles(draw(shown(*mix, *both))) == [
        "west0989 · cpu · warm",
        "west0989 · cuda:0 · warm",
        "2 matrices mixed · cuda:0 · warm",
    ]


def test_the_table_has_a_column_a_size() -> None:
    found = table(FOUND)
    assert [head.text.replace(THIN, " ") for head in found.heads[3:]] == ["kernel", "10", "100", "1 000"]
    assert [row[3:] for row in found.rows] == [
        ("csr/smart", "10.00", "40.00", "80.00"),
        ("cusparse/chain", "4.00", "5.00", "–"),
        ("floor", "250.00", "250.00", "250.00"),
    ]


def test_the_gain_over_the_loop_is_of_the_largest_batch_that_has_both() -> None:
    assert (
        summary(FOUND)
        .replace(THIN, " ")
        .endswith(
            "On cuda:0, warm the fastest kernel of the paper is 8.00 × as fast as cusparse/chain in the largest "
            "batches that have both."
        )
    )


def test_more_matrices_than_panels_are_in_the_table() -> None:
    found = [multiplied("csr/smart", 1.0, size, f"m{i}") for i in range(PANELS_MAX + 1) for size in (1, 2)]
    drawn = Shown(found, {f"m{i}": MatrixFeatures(f"m{i}") for i in range(PANELS_MAX + 1)})
    assert len(titles(draw(drawn))) == PANELS_MAX
    assert summary(drawn).endswith("Drawn are 6 of 7, those of the most sizes; the table has all.")
    assert len(table(drawn).rows) == 2 * (PANELS_MAX + 1)


def test_matrices_of_more_sizes_come_first() -> None:
    two, three = ([multiplied("csr/smart", 1.0, size, name) for size in (1, 2, 3)] for name in ("m2", "m3"))
    features = {name: MatrixFeatures(name) for name in ("m2", "m3")}
    found = titles(draw(Shown([*two[:2], *three], features)))
    assert [title.partition(" ")[0] for title in found] == ["m3", "m2"]


def test_one_size_is_no_growth() -> None:
    for found in (Shown(), shown(*copies())):
        assert titles(draw(found)) == [ONE_SIZE]
        assert (table(found).rows, summary(found)) == ((), ONE_SIZE)
