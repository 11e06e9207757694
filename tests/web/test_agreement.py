"""What a page says twice agrees: sentences, tables, figures and documents over all recordings of the release."""

import functools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpu_engine.findings import batched, formats, pagerank, reduced_spmv, scaling, seeded, solvers, spmm
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.formats.csr_kernels import fastest_csr
from gpu_engine.findings.formats.for_n import cost_of, total_s
from gpu_engine.findings.formats.groups import group_by_facet, once_s, products_to_pay
from gpu_engine.findings.overall_ranking import answers
from gpu_engine.findings.pagerank.adaptive import pairs_of, pays
from gpu_engine.findings.pagerank.runs import KINDS, is_adaptive, is_refined, run_groups
from gpu_engine.recordings import files as recordings
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import compare, verdict_text

STUDIES = {
    "formats": formats,
    "batched": batched,
    "pagerank": pagerank,
    "reduced_spmv": reduced_spmv,
    "scaling": scaling,
    "seeded": seeded,
    "solvers": solvers,
    "spmm": spmm,
}
FILES = sorted(recordings.RECORDED.glob("*/*.json.gz"))
assert FILES


@functools.cache
def data_of(path: str) -> StudyData:
    recording = recordings.read(recordings.RECORDED / path)
    matrices = {matrix.id: MatrixFeatures.of(matrix) for matrix in recording.matrices}
    traces = {(recording.device.id, trace.case): trace for trace in recording.traces}
    return StudyData(list(recording.measurements), matrices, traces=traces)


def by_matrix(data: StudyData) -> Iterator[StudyData]:
    """The page of one matrix after the other."""
    for matrix_id in dict.fromkeys(m.matrix_id for m in data.measurements):
        yield replace(data, measurements=[m for m in data.measurements if m.matrix_id == matrix_id])


def files(*studies: str) -> list[str]:
    names = [f"{path.parent.name}/{path.name}" for path in FILES]
    return [name for name in names if name.split("/")[1].removesuffix(".json.gz") in studies]


def study_of(path: str) -> str:
    return path.split("/")[1].removesuffix(".json.gz")


@pytest.mark.parametrize("path", files(*STUDIES))
def test_findings_contests_and_documents_name_the_same_leaders(path: str) -> None:
    study, data = STUDIES[study_of(path)], data_of(path)
    for finding in study.findings(data):
        # The fastest comes first. Rows of the study scaling are not sorted by time.
        leading = sorted((row for row in finding.rows if row.leads), key=lambda row: row.measurement.median_s or 0.0)
        assert finding.leaders == tuple(row.label for row in leading)
        document = finding.document()
        assert document["fastest"] == list(finding.leaders)
        assert sorted(document["fastest"]) == sorted(v["label"] for v in document["verdicts"] if v["leads"])
        assert len(finding.table.rows) == len(finding.rows) == len(document["verdicts"])
        for row, verdict in zip(finding.rows, document["verdicts"], strict=True):
            base = next((other for other in finding.rows if other.label == finding.baseline), None)
            if base and row.measurement.state == "ok":
                assert row.ratio == gain(base.measurement, row.measurement)
            assert verdict["factor"] == (None if row.ratio is None else max(row.ratio, 1 / row.ratio))
    for contest in study.contests(data):
        times = contest.times()
        assert not contest.leaders or min(times, key=times.__getitem__) in contest.leaders
        assert not set(contest.leaders) & set(contest.unsettled)


@pytest.mark.parametrize("path", files("formats", "pagerank", "reduced_spmv"))
def test_contests_and_findings_of_one_matrix_have_the_same_leaders(path: str) -> None:
    study, data = STUDIES[study_of(path)], data_of(path)
    leaders = Counter(finding.leaders for finding in study.findings(data))
    contested = Counter(contest.leaders for contest in study.contests(data))
    assert sum(leaders.values()) == sum(contested.values())
    assert study_of(path) == "formats" or leaders == contested


@pytest.mark.parametrize("path", files(*STUDIES))
def test_an_answer_counts_its_contests_wins_and_ratios(path: str) -> None:
    contests = STUDIES[study_of(path)].contests(data_of(path))
    for answer in answers(contests):
        where = (answer.device, answer.cache, answer.of)
        contested = [c for c in contests if (c.device, c.cache, c.of) == where and c.entrants]
        assert answer.contests + answer.busy + answer.empty == len(contested)
        assert answer.contests == sum(bool(c.leaders) for c in contested)
        for standing in answer.standings:
            assert standing.wins == sum(standing.label in c.leaders for c in contested)
            assert len(standing.ratios) + standing.failed + standing.absent == answer.contests
            assert min(ratio for _, ratio in standing.ratios) >= 1


@pytest.mark.parametrize("path", files("pagerank"))
def test_the_sentences_on_one_graph_speak_of_the_same_run(path: str) -> None:
    """The sentence of the page and those of the finding: one run a kind, one ratio, one verdict."""
    seen = 0
    for data in by_matrix(data_of(path)):
        pairs = pairs_of(data)
        assert len(pays(data)) == len(pairs)
        for group, finding in zip(run_groups(data), pagerank.findings(data), strict=True):
            n = data.matrix(group.matrix_id).n_rows
            for kind, belongs in KINDS.items():
                best = group.fastest(belongs, n)
                sentences = [s for s in finding.sentences if s.startswith(f"Fastest run with {kind}: ")]
                assert len(sentences) == (best is not None)
                of_kind = [pair for pair in pairs.get((kind, group.place), []) if pair.other in group.runs]
                if best is None or not of_kind:
                    continue
                (pair,) = of_kind
                assert f": {group.label(best)}, " in sentences[0]
                assert (pair.full, pair.other) == (group.fastest_full, best)
                assert f"({verdict_text(compare(pair.full.measurement, best.measurement).kind)})" in sentences[0]
                seen += 1
        for sentence, own in zip(pays(data), pairs.values(), strict=True):
            verdicts = Counter(pair.verdict for pair in own)
            graphs = "1 graph" if len(own) == 1 else f"{len(own)} graphs"
            assert f"Faster on {verdicts['faster']} of {graphs}, slower on {verdicts['slower']}." in sentence
            if len(own) == 1:
                assert f": speedup {units.ratio(own[0].speedup)} over" in sentence
    assert seen


@pytest.mark.parametrize("path", files("pagerank"))
def test_segments_and_refinement_are_apart(path: str) -> None:
    for group in run_groups(data_of(path)):
        for run in group.runs:
            assert not (is_adaptive(run) and is_refined(run))
            assert not is_refined(run) or run.segments == 0
            assert not is_adaptive(run) or run.segments in (2, 4)


@pytest.mark.parametrize("path", files("formats"))
def test_a_break_even_is_where_the_times_cross(path: str) -> None:
    for group in group_by_facet(data_of(path).measurements).values():
        baseline = fastest_csr([m for m in group if m.median_s])
        for m in group:
            n = products_to_pay(m, baseline)
            if baseline is None or n is None or math.isinf(n) or n < 2 or once_s(baseline) is None:
                continue
            cost, rival = cost_of(m), cost_of(baseline)
            assert cost
            assert rival
            assert total_s(cost, int(n)) <= total_s(rival, int(n)) * (1 + 1e-12)
            assert total_s(cost, int(n) - 1) > total_s(rival, int(n) - 1) * (1 - 1e-12)


def test_every_recording_is_looked_at() -> None:
    assert len(files(*STUDIES)) == len(FILES)
