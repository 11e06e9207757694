"""What the findings of every study have in common."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, Row
from gpu_engine.records import Measurement
from gpu_engine.studies import STUDIES, study
from gpu_engine.studies.results import findings_of
from tests.samples import batched, formats, pagerank, reduced_spmv, scaling, seeded, solvers, spmm
from tests.samples.studies import records_of

LOWER = (("triangle", "lower"),)

SAMPLES: dict[str, StudyData] = {
    "formats": StudyData([m for device in ("cpu", "cuda:0") for name in "ab" for m in formats.study_of(name, device)]),
    "pagerank": pagerank.shown(
        *pagerank.luxembourg(),
        *pagerank.luxembourg("cuda:0"),
        *pagerank.luxembourg(matrix="del"),
        pagerank.ran("csr/thread+fp64", 28, axes=LOWER),
        pagerank.ran("csr/thread+cpms4", (0, 46, 62, 5), axes=(("start_segments", "2"), *pagerank.SCHEDULE[1:])),
        pagerank.ran("csr/warp+fp64", 5, 0.01, state="unconverged", note="γ is 0.1 after 5 iterations"),
    ),
    "batched": batched.shown(
        *(m for device in ("cpu", "cuda:0") for size in (10, 1000) for m in batched.copies("west", device, size)),
        *batched.mixed("west", "nos3"),
        batched.multiplied("csr/smart", 3.0, operation="y=Ax", cache="cold"),
        batched.refused("cusparse/branches", "one launch a problem"),
    ),
    "scaling": scaling.shown(
        *(m for device in ("cpu", "cuda:all") for m in scaling.shared(device=device)),
        *scaling.cold(partitioning="pCOO"),
        *scaling.by_cusparse(scaling.cold(), 1.5),
        *scaling.cut_both_ways("fem"),
        scaling.unworked("pCSR/p*", "needs 41 GB", 8),
    ),
    "reduced_spmv": reduced_spmv.shown(
        *reduced_spmv.every(),
        *reduced_spmv.every("del", layouts=("csr/thread",)),
        *reduced_spmv.refused("needs 41 GB", matrix="del"),
        *reduced_spmv.every(device="cuda:1", blocks=("32", "128")),
        *reduced_spmv.every("del", triangle="lower"),
    ),
    "spmm": spmm.shown(
        *spmm.every(),
        *spmm.every("fem", "cuda:1", "column"),
        *spmm.every("fem", "cpu", cache="cold"),
        spmm.refused("bcsr/rows", "the nonzeros do not form dense blocks"),
    ),
    "seeded": seeded.shown(
        *seeded.every(),
        *seeded.every("del", "cuda:1"),
        *seeded.every("del", axes=(("damping", "0.9"),)),
        seeded.ran(seeds="12;5+9:0.5"),
        seeded.refused("needs 41 GB"),
    ),
    "solvers": solvers.shown(
        *solvers.every(),
        *solvers.every("fem", "cuda:1"),
        *(solvers.solved(kernel, more=(("system", "definite"),)) for kernel in solvers.KERNELS),
        solvers.failed("csr/scalar", "status indefinite"),
        solvers.failed("warp/check-0", "NVIDIA Warp is not installed", state="skipped"),
    ),
}

NAMES = tuple(s.name for s in STUDIES)

SIZES = {"scaling": "devices"}
"""Study → the axis that has a column of its own."""


@cache
def sample(name: str) -> StudyData:
    """Return the samples of a study; of one that has none here, what its records of two matrices are."""
    if name in SAMPLES:
        return SAMPLES[name]
    measurements, traces = records_of(name, ("a", "b"))
    return StudyData(measurements, traces={("cpu", trace.case): trace for trace in traces})


def changed(name: str, change: Callable[[Measurement], Measurement]) -> tuple[Finding, ...]:
    """The findings of the samples with every measurement changed."""
    data = sample(name)
    return study(name).findings(replace(data, measurements=[change(m) for m in data.measurements]))


@pytest.mark.parametrize("name", NAMES)
def test_every_measurement_has_one_row(name: str) -> None:
    data = sample(name)
    rows = Counter((row.measurement.device, row.measurement.case) for f in study(name).findings(data) for row in f.rows)
    assert rows == {(m.device, m.case): 1 for m in data.measurements}


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_in_more_than_its_kernel_is_in_another_finding_or_has_another_label(name: str) -> None:
    found = study(name).findings(sample(name))
    for finding in found:
        place = {(row.measurement.matrix_id, row.measurement.device, row.measurement.cache) for row in finding.rows}
        assert place == {(finding.matrix_id, finding.device, finding.cache)}
        assert all(finding.axes.items() <= row.measurement.axes.items() for row in finding.rows)
        labels = [(row.label, row.measurement.axes.get(SIZES.get(name, ""))) for row in finding.rows]
        assert len(set(labels)) == len(labels)
        assert finding.study == name
        assert finding.matrix_id in finding.members
    places = [(f.matrix_id, f.device, f.cache, tuple(f.axes.items())) for f in found]
    assert len(set(places)) == len(places) > 1


@pytest.mark.parametrize("name", NAMES)
def test_leaders_are_the_labels_of_the_rows_that_lead(name: str) -> None:
    for finding in study(name).findings(sample(name)):
        leading = [row for row in finding.rows if row.leads]
        assert sorted(finding.leaders) == sorted(row.label for row in leading)
        assert {row.measurement.state for row in leading} <= {"ok"}
        assert finding.leaders or not finding.decided


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_a_cell_under_every_head_a_word_and_a_reason(name: str) -> None:
    for finding in study(name).findings(sample(name)):
        assert {len(row) for row in finding.table.rows} == {len(finding.table.heads)}
        for row in finding.rows:
            words = {"ok": ("faster", "same", "slower", "inconclusive", "baseline")}
            assert row.word in words.get(row.measurement.state, (row.measurement.state,))
            assert row.reason
        assert all(finding.sentences)


@pytest.mark.parametrize("name", NAMES)
def test_a_quiet_machine_decides_and_a_busy_one_nothing(name: str) -> None:
    # What was measured here and now may have decided nothing.
    assert any(finding.decided for finding in study(name).findings(sample(name))) or name not in SAMPLES
    for finding in changed(name, lambda m: replace(m, aa_gap=0.3)):
        assert (finding.leaders, finding.decided) == ((), False)
        assert not any(row.leads for row in finding.rows)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_decided_beside_an_ambiguous_rival(name: str) -> None:
    found = changed(name, lambda m: replace(m, ci_low_s=1e-9, ci_high_s=1e3) if m.median_s else m)
    rivals = [f for f in found if _competing(f.rows) > 1]
    assert rivals
    assert not any(finding.decided for finding in rivals)


def _competing(rows: Iterable[Row]) -> int:
    """Rows that could lead: with a time, of ours, with the most devices where there are several numbers."""
    timed = [row.measurement for row in rows if row.measurement.state == "ok"]
    ours = [m for m in timed if "product" not in m.axes]
    most = max((int(m.axes.get("devices", "0")) for m in ours), default=0)
    formats_of_most = [m for m in ours if int(m.axes.get("devices", "0")) == most]
    return max(Counter(m.format if m.study == "scaling" else "" for m in formats_of_most).values(), default=0)


@pytest.mark.parametrize("name", NAMES)
def test_what_did_not_converge_or_failed_leads_nothing(name: str) -> None:
    for change in (
        lambda m: replace(m, state="unconverged", note="γ is 0.1") if m.median_s else m,
        lambda m: replace(m, state="failed", median_s=None, note="row 3 is wrong"),
    ):
        for finding in changed(name, change):
            assert (finding.leaders, finding.decided) == ((), False)
            assert {row.word for row in finding.rows} <= {"unconverged", "failed", "skipped"}


def test_findings_are_said_study_by_study() -> None:
    everything = StudyData([m for name in reversed(NAMES) for m in sample(name).measurements])
    assert [*dict.fromkeys(f.study for f in findings_of(everything))] == [s.name for s in STUDIES]
    assert findings_of(StudyData()) == ()
