"""Tables of the reference results of the release in Markdown, printed by the command `tables`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_engine.errors import InputError, plain, quote
from gpu_engine.gpu_bench import call_records, calls_tables
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import BenchmarkData, report
from gpu_engine.recordings.files import ENDING, RECORDED, read


@dataclass(frozen=True, slots=True)
class RecordedTables:
    """Tables of one recording.

    name    DEVICE/STUDY, such as `h200/formats`
    tables  their names, in the order of the report
    render  returns the report of the tables with these names
    """

    name: str
    tables: tuple[str, ...]
    render: Callable[[Sequence[str]], str]

    def select(self, names: Sequence[str]) -> list[str]:
        """Return the tables that have one of these names; all without names."""
        return [table for table in self.tables if not names or not self.names_of(table).isdisjoint(names)]

    def names_of(self, table: str) -> set[str]:
        """Return the names of a table: DEVICE, DEVICE/STUDY, and DEVICE/STUDY/TABLE."""
        return {self.name.partition("/")[0], self.name, f"{self.name}/{table}"}


def recorded_tables(folder: Path = RECORDED) -> list[RecordedTables]:
    """Return the tables of every recording in a folder, by name."""
    studies = [_of_study(path) for path in folder.glob(f"*/*{ENDING}")]
    calls = [_of_calls(path) for path in folder.glob(f"*/{call_records.FILE}")]
    return sorted([*studies, *calls], key=lambda recording: recording.name)


def reports(names: Sequence[str], recordings: Sequence[RecordedTables]) -> Iterator[tuple[str, str]]:
    """Yield the name of each recording and the report of its selected tables; all without names.

    Raise InputError for an unknown name, before the first report.
    """
    known = {name for each in recordings for table in each.tables for name in each.names_of(table)}
    if unknown := [name for name in names if name not in known]:
        listed = "; ".join(f"{each.name} ({', '.join(each.tables)})" for each in recordings)
        raise InputError(f"Unknown tables: {', '.join(map(quote, unknown))}. Available tables: {listed}.")
    return ((each.name, plain(each.render(chosen))) for each in recordings if (chosen := each.select(names)))


def _of_study(path: Path) -> RecordedTables:
    study = path.name.removesuffix(ENDING)
    benchmark = BENCHMARKS[study]

    def render(names: Sequence[str]) -> str:
        data = BenchmarkData(benchmark.subjects, read(path))
        return report(data, {name: benchmark.tables[name] for name in names})

    return RecordedTables(f"{path.parent.name}/{study}", tuple(benchmark.tables), render)


def _of_calls(path: Path) -> RecordedTables:
    def render(names: Sequence[str]) -> str:
        return calls_tables.report(call_records.read(path), names)

    return RecordedTables(f"{path.parent.name}/{call_records.NAME}", tuple(calls_tables.TABLES), render)
