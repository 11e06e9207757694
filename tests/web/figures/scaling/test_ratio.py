from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import cut_both_ways, shown, swept
from web.figures.scaling.markers import VIRTUAL_NOTE
from web.figures.scaling.ratio import NO_SWEEP, draw, info, summary, table


def test_measured_shares_beside_those_that_the_cut_allows() -> None:
    figure = draw(info(shown(*swept(1.25))))
    (allowed,) = traces(figure, "roof")
    assert (allowed["x"], [round(y) for y in allowed["y"]], allowed["line"]["dash"]) == (
        [1.0, 2.0, 10.0],
        [100, 75, 55],
        "dash",
    )
    drawn = {line["name"]: [round(y) for y in line["y"]] for line in traces(figure, "point")}
    assert drawn == {"from the host": [100, 75, 55], "resident": [80, 60, 44]}
    assert titles(figure) == ["cuda:0 · pCSR · 4 devices"]
    # What paints points in the theme of the page sets the colour of their lines.
    assert all("line" in line["marker"] for line in traces(figure, "point"))


def test_the_table_and_the_summary_say_the_same() -> None:
    found = info(shown(*swept(1.25)))
    assert [tuple(cell.replace(THIN, " ") for cell in row[4:]) for row in table(found).rows][-1] == (
        "4",
        "10.0",
        "55 %",
        "44 %",
    )
    assert (
        "cuda:0 · pCSR · 4 devices: at r = 10.0, 55 % allowed, 55 % from the host and 44 % resident measured."
        in summary(found).replace(THIN, " ")
    )
    assert VIRTUAL_NOTE.strip() in summary(info(shown(*swept(device="cpu"))))


def test_other_matrices_are_no_sweep() -> None:
    nothing = info(shown(*cut_both_ways()))
    assert (titles(draw(nothing)), table(nothing).rows, summary(nothing)) == ([NO_SWEEP], (), NO_SWEEP)
