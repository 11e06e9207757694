"""Documents hold the tables of the recordings that come with the product, as the command writes them."""

import re
from pathlib import Path

import pytest

from gpu_engine.errors import InputError
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import call_records, calls_tables
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.documents import with_tables
from gpu_engine.recordings.files import ENDING, RECORDED

DOCS = Path(__file__).parents[3] / "docs"
WINNERS = "<!-- tables: h200/batched winners -->\n"


@pytest.mark.parametrize(
    "document", [*sorted(DOCS.glob("h[12]00*.md")), DOCS / "operator.md"], ids=lambda path: path.stem
)
def test_the_tables_of_the_documents_are_what_the_command_writes(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert with_tables(text) == text


def test_every_table_of_every_recording_of_an_h200_is_in_a_document() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    recorded = {(path.parent.name, path.name.removesuffix(ENDING)) for path in RECORDED.glob(f"*/*{ENDING}")}
    named = {(place, study, table) for place, study in recorded for table in BENCHMARKS[study].tables}
    calls = {(path.parent.name, call_records.NAME) for path in RECORDED.glob(f"*/{call_records.FILE}")}
    named |= {(place, name, table) for place, name in calls for table in calls_tables.TABLES}
    shown = set(re.findall(r"<!-- tables: (\S+)/(\w+) (\w+) -->", text))
    assert shown <= named
    # Of a second GPU the pages have the rest, and of a matrix in a new order nothing is recorded.
    assert named - shown == {("h200", "formats", "orders"), *(each for each in named - shown if each[0] == "h100")}


def test_what_stands_between_marks_is_written_and_all_else_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "DOCUMENTS", tmp_path)
    document, other = tmp_path / "a.md", tmp_path / "b.md"
    document.write_text(f"Before.\n\n{WINNERS}old\n<!-- end -->\n\nAfter.\n", encoding="utf-8")
    other.write_text("No tables.\n", encoding="utf-8")
    assert command.main(["tables"]) == 0
    text = document.read_text(encoding="utf-8")
    begin, end = (
        f"Before.\n\n{WINNERS}\n## Which kernel is the fastest, mixed, cold\n\n",
        "\n\n<!-- end -->\n\nAfter.\n",
    )
    assert text.startswith(begin)
    assert text.endswith(end)
    assert re.search(r"\n\| sliced/lanes \| 1.00.× \| – \| 100.% \| 1.00.× \| 0 \|\n", text)
    assert capsys.readouterr().err == f"wrote the tables of {document}\n"
    assert other.read_text(encoding="utf-8") == "No tables.\n"
    # Written again, nothing has changed.
    assert command.main(["tables"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WINNERS, "1 marks begin tables and 0 end"),
        (f"{WINNERS}{WINNERS}<!-- end -->", "2 marks begin tables and 1 end"),
        ("<!-- tables: h200/batched losers -->\n<!-- end -->", "no tables losers of h200/batched"),
        ("<!-- tables: h200/nothing winners -->\n<!-- end -->", "no tables winners of h200/nothing"),
        ("<!-- tables: p100/batched winners -->\n<!-- end -->", "no tables winners of p100/batched"),
    ],
)
def test_a_mark_that_names_no_tables_or_does_not_end_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_tables(text)
