"""The command `tables` prints the tables of every recording that comes with the product, as findings make them."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from gpu_engine.errors import InputError, plain
from gpu_engine.findings.batched.conclusions import table as batched_conclusions
from gpu_engine.findings.formats.conclusions import table as formats_conclusions
from gpu_engine.findings.pagerank.conclusions import table as pagerank_conclusions
from gpu_engine.findings.reduced_spmv.conclusions import table as reduced_spmv_conclusions
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import call_records, calls_tables
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section
from gpu_engine.gpu_bench.recorded_tables import RecordedTables, recorded_tables, reports
from gpu_engine.recordings.files import ENDING, RECORDED, read

ROOT = Path(__file__).parents[3]
RECORDINGS = sorted(path for path in RECORDED.glob("*/*") if path.name.endswith(ENDING))
CALLS = sorted(RECORDED.glob(f"*/{call_records.FILE}"))

Parsed = tuple[str, list[list[str]], list[str]]
"""The title of a section, the rows of its table with the heads first, and its notes."""


def parsed(text: str) -> list[Parsed]:
    """The sections of a report in Markdown."""
    sections: list[Parsed] = []
    for part in text.split("\n## ")[1:]:
        title, *lines = part.splitlines()
        rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines if line.startswith("|")]
        notes = [line for line in lines if line and not line.startswith("|")]
        sections.append((title, [rows[0], *rows[2:]], notes))
    return sections


def expected(sections: Iterable[Section]) -> list[Parsed]:
    """The same from what findings made; a section without rows is left out."""
    return [
        (
            plain(section.title),
            [
                [cell(f"{head.text} {head.unit}".rstrip()) for head in section.table.heads],
                *([cell(text) for text in row] for row in section.table.rows),
            ],
            [plain(note) for note in section.notes],
        )
        for section in sections
        if section.table.rows
    ]


def cell(text: str) -> str:
    return plain(text.replace("|", "&#124;"))


def data_of(path: Path) -> BenchmarkData:
    return BenchmarkData(BENCHMARKS[path.name.removesuffix(ENDING)].subjects, read(path))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_the_tables_of_a_recording_are_what_findings_say(path: Path) -> None:
    data = data_of(path)
    tables = BENCHMARKS[data.recording.study].tables
    ((name, text),) = reports([name_of(path)], recorded_tables())
    assert name == name_of(path)
    assert text.startswith(f"# {data.recording.study}, {data.recording.device.name}, {data.recording.created_at}\n")
    sections = parsed(text)
    assert sections == expected(section for table in tables.values() for section in table(data))
    assert all(len(row) == len(rows[0]) for _, rows, _ in sections for row in rows)
    assert sections


@pytest.mark.parametrize("path", CALLS, ids=name_of)
def test_the_tables_of_calls_are_those_of_their_records(path: Path) -> None:
    ((_, text),) = reports([name_of(path)], recorded_tables())
    recording = call_records.read(path)
    assert parsed(text) == expected(section for table in calls_tables.TABLES.values() for section in table(recording))
    assert len(parsed(text)) >= len(calls_tables.TABLES)


@pytest.mark.parametrize(
    ("study", "table"),
    [
        ("formats", formats_conclusions),
        ("pagerank", pagerank_conclusions),
        ("reduced_spmv", reduced_spmv_conclusions),
        ("batched", batched_conclusions),
    ],
)
def test_the_judged_statements_of_a_paper_are_the_table_conclusions(study: str, table: Callable[..., object]) -> None:
    ((_, text),) = reports([f"h200/{study}/conclusions"], recorded_tables())
    ((title, rows, notes),) = parsed(text)
    wanted = table(data_of(RECORDED / "h200" / f"{study}{ENDING}").study)
    assert (title, rows, notes) == expected([Section(title, wanted)])[0]  # type: ignore[arg-type]


def test_every_recording_has_tables_and_every_table_a_name() -> None:
    every = {recording.name: recording.tables for recording in recorded_tables()}
    assert list(every) == sorted(map(name_of, [*RECORDINGS, *CALLS]))
    for path in RECORDINGS:
        assert every[name_of(path)] == tuple(BENCHMARKS[path.name.removesuffix(ENDING)].tables)
    for path in CALLS:
        assert every[name_of(path)] == tuple(calls_tables.TABLES)


def test_a_table_is_printed_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["tables", "h200/batched/winners"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("# batched, NVIDIA H200, ")
    assert out.count("\n# ") == 0
    assert re.search(r"\n\| sliced/lanes \| 1.00.× \| 100.% \| 1.00.× \| 0 \|\n", out)


def test_tables_are_written_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "tables"
    assert command.main(["tables", "--out", str(folder), "h100-x2", "h200/calls/versions"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    files = [folder / "h100-x2-scaling.md", folder / "h200-calls.md"]
    assert err == "".join(f"wrote {path}\n" for path in files)
    assert sorted(folder.iterdir()) == files
    assert "| cuSPARSE | 12.9.4 |" in files[1].read_text(encoding="utf-8")


def fake(name: str, *tables: str) -> RecordedTables:
    return RecordedTables(name, tables, " ".join)


FAKES = [fake("p100/batched", "winners", "mixed"), fake("p100/formats", "contests"), fake("v100/batched", "winners")]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ([], ["winners mixed", "contests", "winners"]),
        (["p100"], ["winners mixed", "contests"]),
        (["v100", "p100/formats"], ["contests", "winners"]),
        (["p100/batched/mixed", "p100/batched/winners"], ["winners mixed"]),
    ],
)
def test_names_choose_devices_studies_and_tables(names: list[str], wanted: list[str]) -> None:
    assert [text for _, text in reports(names, FAKES)] == wanted


@pytest.mark.parametrize("name", ["k80", "p100/scaling", "p100/batched/losers", "batched", ""])
def test_a_name_without_tables_is_refused_with_those_there_are(name: str) -> None:
    listed = (
        r"Available tables: p100/batched \(winners, mixed\); p100/formats \(contests\); v100/batched \(winners\)\.$"
    )
    with pytest.raises(InputError, match=rf"^Unknown tables: '{name}'\. {listed}"):
        reports(["p100", name], FAKES)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["tables", "p100"], "Unknown tables: 'p100'"),
        (["measure", "h200"], "Only the command tables takes names. Leave out h200."),
    ],
)
def test_the_command_ends_with_2_for_a_wrong_name(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {error}")


def test_every_table_that_a_document_names_is_there() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in documents)
    named = re.findall(r"(?:gpu_bench tables |TABLES=)'?((?:h\d+[\w/-]* ?)+)", text)
    known = {name for each in recorded_tables() for table in each.tables for name in each.names_of(table)}
    assert named
    assert {name for names in named for name in names.split()} - known == set()
