"""Tables in Markdown, by value."""

from gpu_engine.gpu_bench.markdown import Section, render
from gpu_engine.text.tables import Head, Table

TIMES = Table((Head("matrix", numeric=False), Head("time", "median"), Head("ε(|A|)")), (("a|b", "1.5 µs", "–"),))


def test_numbers_are_set_right_notes_stand_below_and_bars_are_no_columns() -> None:
    assert render(
        [Section("Times", TIMES, ("A note.", "Another.")), Section("More", Table((Head("n"),), (("1",),)))]
    ) == (
        "## Times\n\n| matrix | time median | ε(&#124;A&#124;) |\n| --- | ---: | ---: |\n| a&#124;b | 1.5 µs | – |\n\n"
        "A note.\n\nAnother.\n\n## More\n\n| n |\n| ---: |\n| 1 |\n"
    )


def test_a_table_without_rows_is_left_out() -> None:
    assert render([Section("Nothing", Table((Head("matrix"),), ()), ("A note.",))]) == ""
