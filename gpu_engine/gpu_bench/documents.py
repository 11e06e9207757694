"""The tables of recordings inside documents: they stand between marks that name them, and are written there.

`<!-- tables: h200/formats contests -->` begins the tables `contests` of the recording `h200/formats.json.gz`, and
`<!-- end -->` ends them. What stands outside of marks is written by hand.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gpu_engine.errors import InputError
from gpu_engine.gpu_bench import call_records, calls_tables
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, render
from gpu_engine.host.whole_files import write_whole
from gpu_engine.recordings.files import ENDING, RECORDED, read

BEGIN = "<!-- tables: "
MARKS = re.compile(rf"({BEGIN}(\S+)/(\w+) (\w+) -->\n).*?(?=<!-- end -->)", re.S)


def write_tables(folder: Path) -> list[Path]:
    """Writes the tables between the marks of the documents of a folder, and returns the files that have changed.

    Raises InputError for a mark without an end, or whose recording or table does not exist.
    """
    changed = []
    for path in sorted(folder.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = with_tables(before)
        if after != before:
            write_whole(path, after)
            changed.append(path)
    return changed


def with_tables(text: str) -> str:
    """The text with the tables between its marks written anew; raises InputError as `write_tables`."""
    after, marks = MARKS.subn(lambda mark: f"{mark[1]}\n{_tables(*mark.groups()[1:])}\n", text)
    if marks != text.count(BEGIN):
        raise InputError(f"{text.count(BEGIN)} marks begin tables and {marks} end. Write <!-- end --> below each.")
    return after


def _tables(place: str, study: str, table: str) -> str:
    find = _of_calls if study == call_records.NAME else _of_study
    sections = find(RECORDED / place, study, table)
    if sections is None:
        raise InputError(f"There are no tables {table} of {place}/{study}. Name a recording and one of its tables.")
    return render(sections)


def _of_study(folder: Path, study: str, table: str) -> Iterable[Section] | None:
    path, benchmark = folder / f"{study}{ENDING}", BENCHMARKS.get(study)
    if benchmark is None or table not in benchmark.tables or not path.exists():
        return None
    return benchmark.tables[table](BenchmarkData(benchmark.subjects, _recording(path)))


def _of_calls(folder: Path, _: str, table: str) -> Iterable[Section] | None:
    path = folder / call_records.FILE
    if table not in calls_tables.TABLES or not path.exists():
        return None
    return calls_tables.TABLES[table](call_records.read(path))


_recording = cache(read)
