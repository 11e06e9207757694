"""Judgment of a paper: verdicts, tables, and numbers from the results on all devices, computed once per results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from gpu_engine.verdicts.verdict import UNKNOWN_GAP
from web.papers import PAPERS, find_paper
from web.papers.base import Outlook
from web.papers.statements import Verdict, verdicts

JUDGMENTS_MAX = 2 * len(PAPERS)
"""Judgments in the cache: of each paper for the present results, and some older ones."""

DeviceResults = tuple[tuple[str, StudyData], ...]
"""Pairs of (name of a device, results of a study on it)."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """Verdicts on the statements of a paper, and what else its results give.

    tables   label of an exhibit → its table of printed and measured values
    numbers  number of each line of the outlook; empty: none
    notes    pairs of (name of a device, sentence about what its results lack)
    """

    verdicts: tuple[Verdict, ...]
    tables: Mapping[str, Table]
    numbers: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]


@lru_cache(maxsize=JUDGMENTS_MAX)
def judge(name: str, results: tuple[tuple[str, DeviceResults], ...]) -> Judgment:
    """Return the judgment of a paper; the same StudyData give the cached one. results: pairs of (study, results)."""
    paper = find_paper(name)
    data_by_study = {study: dict(of) for study, of in results if study in paper.judges}
    merged = {study: merge([data for _, data in of]) for study, of in results}
    tables = {exhibit.label: exhibit.table(merged) for exhibit in paper.exhibits if exhibit.table}
    return Judgment(
        verdicts(paper.judges, data_by_study),
        {label: table for label, table in tables.items() if table.rows},
        tuple(_number(each, merged) for each in paper.outlook),
        _notes(data_by_study),
    )


def merge(parts: Sequence[StudyData]) -> StudyData:
    """Return the results of several devices as one."""
    measurements = tuple(chain.from_iterable(part.measurements for part in parts))
    matrices = {matrix: features for part in parts for matrix, features in part.matrices.items()}
    traces = {key: trace for part in parts for key, trace in part.traces.items()}
    return StudyData(measurements, matrices, traces=traces)


def _number(outlook: Outlook, merged: Mapping[str, StudyData]) -> str:
    return outlook.number if isinstance(outlook.number, str) else outlook.number(merged)


def _notes(data_by_study: Mapping[str, Mapping[str, StudyData]]) -> tuple[tuple[str, str], ...]:
    """Return one pair per study and device whose results have no A/A gap: the device, and a sentence."""
    return tuple(
        (
            device,
            f"The results of the study {study} on {device} have no A/A gap. Their verdicts assume that differences up "
            f"to {_assumed_gap(study)} are noise.",
        )
        for study, by_device in data_by_study.items()
        for device, data in by_device.items()
        if _lacks_gaps(data.measurements)
    )


def _assumed_gap(study: str) -> str:
    """Return the A/A gap that verdicts assume for records without a control kernel: `10.2 %`."""
    return f"{100 * UNKNOWN_GAP.get(study, max(UNKNOWN_GAP.values())):.1f}{units.THIN}%"


def _lacks_gaps(measurements: Sequence[Measurement]) -> bool:
    timed = [m for m in measurements if m.median_s is not None]
    return bool(timed) and all(m.aa_gap is None for m in timed)
