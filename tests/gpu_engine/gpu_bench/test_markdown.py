"""Tables in Markdown, by value."""

from gpu_engine.gpu_bench.markdown import lowest, mean, ms, number, render, section, us


def test_numbers_are_set_right_and_notes_stand_below() -> None:
    first = section("Times", "matrix | µs", [("a", "1.5"), ("b", "–")], "A note.", "", "Another.")
    second = section("More", "kernel", [["csr/scalar"]])
    assert render([*first, *second]) == (
        "## Times\n\n| matrix | µs |\n| --- | ---: |\n| a | 1.5 |\n| b | – |\n\nA note.\n\nAnother.\n\n"
        "## More\n\n| kernel |\n| --- |\n| csr/scalar |\n"
    )


def test_a_table_without_rows_is_left_out() -> None:
    assert list(section("Nothing", "matrix | µs", [], "A note.")) == []


def test_numbers_have_fixed_decimals_and_a_dash_where_there_is_none() -> None:
    assert (number(1.005e1), number(2.0, 3), us(1.25e-6), ms(1.25e-6)) == ("10.05", "2.000", "1.2", "0.001")
    assert (number(None), us(None), ms(None)) == ("–", "–", "–")


def test_means_are_of_the_ratios_that_there_are() -> None:
    assert mean([2.0, None, 8.0]) == "4.00"
    assert mean([None]) == "–"
    assert lowest([2.0, None, 8.0], "graphs") == "geometric mean 4.00, lowest 2.00, of 2 graphs"
    assert lowest([2.0]) == "geometric mean 2.00, lowest 2.00, of 1"
    assert lowest([None]) == ""
