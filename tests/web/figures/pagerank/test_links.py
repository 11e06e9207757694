from tests.samples.formats import titles, traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank.links import NO_LINKS, draw, info, summary, table

COUNTS = (5, 10, 0, 25, 10)
WHOLE = ran("csr/thread+fp64", 9, link_counts=COUNTS)


def test_pages_are_counted_by_the_links_to_them() -> None:
    found = info(shown(WHOLE))
    (panel,) = found.panels
    assert [(row.links, row.pages, row.share) for row in panel.rows] == [
        *(("0", 5, 0.1), ("1", 10, 0.2), ("2–3", 0, 0.0)),
        *(("4–7", 25, 0.5), ("8–15", 10, 0.2)),
    ]
    (bars,) = traces(draw(found), "kernel")
    assert list(bars["x"]) == [10.0, 20.0, 0.0, 50.0, 20.0]
    assert [row[2:4] for row in table(found).rows] == [
        ("0", "5"),
        ("1", "10"),
        ("2–3", "0"),
        ("4–7", "25"),
        ("8–15", "10"),
    ]


def test_each_operator_of_a_graph_has_its_panel() -> None:
    lower = ran("csr/thread+fp64", 9, axes=(("triangle", "lower"),), link_counts=(30, 20))
    found = info(shown(WHOLE, lower, ran("csr/thread+pattern", 9, link_counts=COUNTS)))
    assert [[row.pages for row in panel.rows] for panel in found.panels] == [list(COUNTS), [30, 20]]
    figure = draw(found)
    assert len(traces(figure, "kernel")) == 2
    # A panel whose labels are all numbers has rows, too, and no axis of numbers.
    assert {axis.type for axis in figure.select_yaxes()} == {"category"}


def test_runs_that_do_not_say_are_not_drawn() -> None:
    found = info(shown(*luxembourg()))
    assert (titles(draw(found)), summary(found), table(found).rows) == ([NO_LINKS], NO_LINKS, ())
