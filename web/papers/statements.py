"""Verdicts on the statements of a paper: the table under an exhibit, and the scoreboard of the page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_engine.findings.conclusions import SCOPES, Conclusion, Scope
from gpu_engine.findings.data import StudyData
from gpu_engine.studies.results import busy_cases
from web.papers.base import Judge
from web.papers.components import Scoreboard, ScoreboardRow, StatementRows, StatementTable, VerdictCell, VerdictRow
from web.results import CACHE_DEFAULT
from web.studies import page_of

NOT_CHECKED = "not checked"
TOO_NOISY = "The timings are too noisy."
VERDICTS = ("agrees", "mostly", "seldom", "disagrees", NOT_CHECKED)

StatementKey = tuple[str, str]
"""Study and text of a statement."""

RowKey = tuple[Scope, str, str]
"""Scope, setting, and cache state of a verdict: the row of its statement."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Conclusion of a study on one device.

    device   name of the device, empty without results of the study
    setting  how it was measured there, `lower triangles` or `simulated`; mostly empty
    """

    study: str
    device: str
    setting: str
    conclusion: Conclusion

    @property
    def statement(self) -> StatementKey:
        """Study and text of the statement."""
        return self.study, self.conclusion.statement

    @property
    def row(self) -> RowKey:
        """Matrices, setting, and cache state."""
        return self.conclusion.scope, self.setting, self.conclusion.cache

    @property
    def word(self) -> str:
        """Verdict in a word, one of VERDICTS."""
        return NOT_CHECKED if self.conclusion.says == "no data" else self.conclusion.says

    @property
    def is_checked(self) -> bool:
        """Whether there are results for the statement."""
        return self.word != NOT_CHECKED


def verdicts(judges: Mapping[str, Judge], data_by_study: Mapping[str, Mapping[str, StudyData]]) -> tuple[Verdict, ...]:
    """Return all verdicts on each device, first those with a warm cache.

    A statement without any results appears once, without a device.

    data_by_study  study → name of the device → its results
    """
    all_verdicts = [
        Verdict(study, device, _setting(conclusion.device, device), conclusion)
        for study, judge in judges.items()
        for device, data in data_by_study[study].items()
        for conclusion in _without_noise(judge, data)
    ]
    known = {verdict.statement for verdict in all_verdicts}
    for study, judge in judges.items():
        for conclusion in judge(StudyData()):
            unjudged = Verdict(study, "", "", replace(conclusion, why=f"No results of the study {study}."))
            if unjudged.statement not in known:
                known.add(unjudged.statement)
                all_verdicts.append(unjudged)
    return tuple(sorted(all_verdicts, key=lambda verdict: verdict.conclusion.cache != CACHE_DEFAULT))


def _without_noise(judge: Judge, data: StudyData) -> list[Conclusion]:
    """Return the conclusions of a device, without noisy timings; what only noisy ones could check has that reason."""
    noisy = busy_cases(data)
    quiet = replace(data, measurements=[m for m in data.measurements if (m.device, m.case) not in noisy])
    by_key = {_key(conclusion): conclusion for conclusion in judge(quiet) if conclusion.device}
    for conclusion in judge(data) if noisy else ():
        known = by_key.get(_key(conclusion))
        if conclusion.device and conclusion.says != "no data" and (known is None or known.says == "no data"):
            by_key[_key(conclusion)] = replace(conclusion, says="no data", numbers="", cases=0, why=TOO_NOISY)
    return list(by_key.values())


def _key(conclusion: Conclusion) -> tuple[str, ...]:
    return conclusion.statement, conclusion.device, conclusion.cache, conclusion.scope


def statement_table(exhibit_verdicts: Sequence[Verdict], chosen: str) -> StatementTable | None:
    """Return the table of an exhibit; None without statements. chosen: name of the device in the first column."""
    if not exhibit_verdicts:
        return None
    checked = dict.fromkeys(v.device for v in exhibit_verdicts if v.is_checked)
    known = checked or dict.fromkeys(v.device for v in exhibit_verdicts)
    devices = tuple(sorted(known, key=lambda device: device != chosen))
    caches = {v.conclusion.cache for v in exhibit_verdicts if v.is_checked}
    studies = {v.study for v in exhibit_verdicts}
    groups: dict[StatementKey, list[Verdict]] = {}
    for verdict in exhibit_verdicts:
        groups.setdefault(verdict.statement, []).append(verdict)
    statements = tuple(
        StatementRows(text, page_of(study).link if len(studies) > 1 else "", _rows(group, devices, len(caches) > 1))
        for (study, text), group in groups.items()
    )
    return StatementTable(devices, statements)


def verdict_counts(exhibit_verdicts: Iterable[Verdict], chosen: str) -> str:
    """Return the verdicts on the paper's matrices on one device, `agrees (2), not checked (1)`, or a single word.

    A statement counts in the first cache state that has a verdict, once per setting.
    """
    papers = papers_verdicts(v for v in exhibit_verdicts if v.device == chosen)
    firsts: dict[tuple[StatementKey, str], Verdict] = {}
    for verdict in papers:
        firsts.setdefault((verdict.statement, verdict.setting), verdict)
    counts = Counter(verdict.word for verdict in firsts.values())
    several = len(firsts) > 1
    return ", ".join(f"{word} ({counts[word]})" if several else word for word in VERDICTS if counts[word]) or (
        NOT_CHECKED
    )


def scoreboard(all_verdicts: Sequence[Verdict], chosen: str) -> Scoreboard:
    """Return the number of statements by verdict for each device, setting, and cache state, the chosen device first.

    Statements that a device has no results for count as not checked, so that each row has the sum of all statements.
    A cache state has no row if a device checks more statements with a warm cache: some matrices are measured warm only.
    """
    total = len({verdict.statement for verdict in all_verdicts})
    by_place: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in papers_verdicts(all_verdicts):
        if verdict.is_checked:
            by_place.setdefault((verdict.device, verdict.setting, verdict.conclusion.cache), []).append(verdict)
    by_place = {place: of_place for place, of_place in by_place.items() if _is_complete(place, by_place)}
    several = len({cache for _, _, cache in by_place}) > 1
    rows = []
    for (device, setting, cache), of_place in sorted(by_place.items(), key=lambda place: place[0][0] != chosen):
        counts = Counter(verdict.word for verdict in of_place)
        counts[NOT_CHECKED] = total - len(of_place)
        label = ", ".join(filter(None, (device, setting, cache if several else "")))
        rows.append(ScoreboardRow(label, tuple(counts[word] for word in VERDICTS), (device, setting, cache)))
    checked = {device for device, _, _ in by_place}
    lacking = dict.fromkeys(v.device for v in all_verdicts if v.device and v.device not in checked)
    rows += [ScoreboardRow(device, (0,) * (len(VERDICTS) - 1) + (total,), (device, "", "")) for device in lacking]
    return Scoreboard(VERDICTS, tuple(rows), total)


def _is_complete(place: tuple[str, str, str], by_place: Mapping[tuple[str, str, str], Sequence[Verdict]]) -> bool:
    """Return whether a (device, setting, cache state) checks as many statements as the same one with a warm cache."""
    warm = by_place.get((*place[:2], CACHE_DEFAULT), ())
    return len(by_place[place]) >= len(warm)


def papers_checks(some: Iterable[Verdict], device: str) -> int:
    """Return the number of verdicts on the paper's matrices on a device."""
    return sum(v.device == device and v.is_checked and v.conclusion.scope == "paper" for v in some)


def _setting(place: str, device: str) -> str:
    """Return what follows the name of the device: `lower triangles` of `NVIDIA H200, lower triangles`."""
    return place.removeprefix(device).strip(" ,()") if place.startswith(device) else place


def papers_verdicts(some: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on the paper's matrices, without the unchecked ones of statements that others check."""
    papers = [verdict for verdict in some if verdict.conclusion.scope == "paper"]
    checked = {(verdict.device, verdict.statement) for verdict in papers if verdict.is_checked}
    return [v for v in papers if v.is_checked or (v.device, v.statement) not in checked]


def _rows(group: Sequence[Verdict], devices: Sequence[str], with_cache: bool) -> tuple[VerdictRow, ...]:
    """Return one row for the matrices, setting, and cache state of a statement, those of the paper first.

    Rows without a verdict are left out, except the first one if its matrices have no other row.
    """
    checked = dict.fromkeys(verdict.row for verdict in group if verdict.is_checked)
    first = {verdict.conclusion.scope: verdict.row for verdict in reversed(group)}
    scopes = {scope for scope, _, _ in checked}
    keys = [*checked, *(row for scope, row in first.items() if scope not in scopes)]
    by_cell = {(verdict.row, verdict.device): verdict for verdict in group}
    order = list(SCOPES)
    rows = []
    for key in sorted(keys, key=lambda key: order.index(key[0])):
        scope, setting, cache = key
        label = ", ".join(filter(None, (SCOPES[scope], setting, cache if with_cache else "")))
        rows.append(
            VerdictRow(
                label, tuple(cell_of(by_cell[key, device]) if (key, device) in by_cell else None for device in devices)
            )
        )
    return tuple(rows)


def cell_of(verdict: Verdict) -> VerdictCell:
    """Return the cell of a verdict; its numbers are empty if the reason has them all."""
    conclusion = verdict.conclusion
    has_all = conclusion.cases <= 1 and "Reasons:" not in conclusion.numbers
    return VerdictCell(verdict.word, conclusion.why, "" if has_all else conclusion.numbers)
