"""What the tables of a benchmark say of a recording, by their headings."""

from collections.abc import Sequence

from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables
from gpu_engine.recordings.files import Recording
from gpu_engine.text.tables import Table


def sections(tables: Tables, subjects: Sequence[Subject], recording: Recording) -> dict[str, Section]:
    """The sections that are not left out for want of rows."""
    data = BenchmarkData(subjects, recording)
    every = (section for table in tables.values() for section in table(data))
    return {section.title: section for section in every if section.table.rows}


def cells(table: Table, *heads: str) -> list[tuple[str, ...]]:
    """The cells of each row under these heads, thin spaces as spaces."""
    texts = [f"{head.text} {head.unit}".rstrip() for head in table.heads]
    places = [texts.index(head) for head in heads]
    return [tuple(row[place].replace("\u202f", " ") for place in places) for row in table.rows]
