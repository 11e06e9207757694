from urllib.parse import parse_qsl

import pytest

from gpu_engine.errors import ParameterError
from web.selection import NAMES, VALUES_MAX, Selection, parse_options, parse_selection, with_nearest
from web.studies import PAGES, page_parameters


def test_repeats_keep_their_order_and_come_once() -> None:
    selection = parse_selection([("matrix", "b"), ("matrix", "a"), ("matrix", "b"), ("cache", "cold"), ("job", "")])
    assert selection == Selection(matrix=("b", "a"), cache=("cold",))


def parse(query: list[tuple[str, str]]) -> Selection:
    return parse_selection(query, parameters=page_parameters())


def test_an_address_reads_back_as_the_same_selection() -> None:
    selection = Selection().with_(
        job="j",
        matrix=("m 1", "m&2"),
        device="cuda:0",
        kernel="csr/vector",
        cache=("warm", "cold"),
        baseline="cusparse/best",
        kernels="paper",
        sort="-csr/vector",
        op="AT",
        reproducible="true",
        study="formats",
        pair=("pellr", "ell"),
        series="figure-12",
        epsilon="1e-6",
        batch="100",
        operation="y=Ax+y",
        devices="4",
        phases="shares",
    )
    assert parse(parse_qsl(selection.query)) == selection
    assert [*dict(selection.study_values)] == ["pair", "series", "epsilon", "batch", "operation", "devices", "phases"]
    assert Selection().query == ""
    of_set = Selection(set=("0123456789ab",), cache=("cold",))
    assert parse(parse_qsl(of_set.with_(set="0123456789ab", matrix=("a", "b")).query)) == of_set


def test_parameters_of_one_page_alone_are_replaced_and_taken_away() -> None:
    chosen = Selection(cache=("cold",)).with_(batch="10", devices="4")
    assert chosen.pairs == [("cache", "cold"), ("batch", "10"), ("devices", "4")]
    assert chosen.with_(batch="20").pairs == [("cache", "cold"), ("batch", "20"), ("devices", "4")]
    assert chosen.with_(batch=(), devices=()) == Selection(cache=("cold",))


def test_with_replaces_a_parameter() -> None:
    assert Selection(matrix=("a",)).with_(cache="cold", matrix=()) == Selection(cache=("cold",))
    assert Selection(set=("s",), matrix=("a",)).with_(matrix="b") == Selection(matrix=("b",))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ([("matrx", "a")], "parameter 'matrx'"),
        ([("cache", "hot")], "cache is 'hot'"),
        ([("batch", "-1")], "batch is '-1'"),
        ([("devices", "0")], "devices is '0'"),
        ([("phases", "halves")], "phases is 'halves'"),
        ([("op", "both")], "op is 'both'. Choose one of A, AT"),
        ([("op", "A"), ("op", "AT")], "op is given 2 times"),
        ([("reproducible", "other")], "reproducible is 'other'. Choose one of true"),
        ([("kernels", "worst")], "kernels is 'worst'. Choose one of best, paper, libraries, all"),
        ([("series", "figure-6")], "series is 'figure-6'. Choose one of all, figure-11, figure-12"),
        ([("sort", "-rows")], "sort is '-rows'. Choose one of sigma, nnz, ave, best, or a kernel"),
        ([("sort", "nnz"), ("sort", "ave")], "sort is given 2 times"),
        ([("batch", "1"), ("batch", "2")], "batch is given 2 times"),
        ([("study", "formats"), ("study", "pagerank")], "study is given 2 times"),
        ([("matrix", str(i)) for i in range(VALUES_MAX + 1)], "at most 100"),
        ([("cache", "cold")] * (VALUES_MAX + 1), "cache is given 101 times. Give at most 100"),
    ],
)
def test_what_cannot_be_shown_is_refused(query: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        parse(query)


@pytest.mark.parametrize(
    ("given", "taken", "is_said"),
    [
        *(("0", ["1"], True), ("-3", ["1"], True), ("7.5", ["7"], True), ("2e9", [f"{10**9}"], True)),
        *(("many", [], True), ("nan", [], True), ("1e3", ["1000"], False), ("7", ["7"], False), ("", [""], False)),
    ],
)
def test_a_page_takes_the_nearest_number(given: str, taken: list[str], is_said: bool) -> None:
    query = [("device", "0"), ("n", given), ("cache", "hot")]
    pairs, note = with_nearest(query, page_parameters())
    assert [value for name, value in pairs if name == "n"] == taken
    assert [pair for pair in pairs if pair[0] != "n"] == [query[0], query[2]]
    assert (bool(note), given in note) == (is_said, True if is_said else given == "")


def test_options_of_a_list() -> None:
    assert parse_options([("q", "cnr")], ("q", "sort")) == {"q": "cnr", "sort": ""}
    with pytest.raises(ParameterError, match="given twice"):
        parse_options([("q", "a"), ("q", "b")], ("q",))
    with pytest.raises(ParameterError, match="takes none"):
        parse_options([("q", "a")], ())


def test_no_parameter_belongs_to_two_pages_or_to_all() -> None:
    assert len(page_parameters()) == sum(len(page.parameters) for page in PAGES)
    assert not {*page_parameters()} & {*NAMES, "study_values"}
    with pytest.raises(ParameterError, match="parameter 'batch'"):
        parse_selection([("batch", "1")])
