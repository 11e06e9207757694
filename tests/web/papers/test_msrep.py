"""The page of the MSREP paper: its matrices, the axes of its figures, and the reference results of several GPUs."""

import json

from fastapi.testclient import TestClient

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.conclusions import STATEMENTS, conclusions
from gpu_engine.findings.scaling.paper import FIGURE_19, NAMES, ratio_of
from gpu_engine.gpu_bench.benchmark_matrices import STAND_IN
from gpu_engine.gpu_bench.multigpu_matrices import PAPER_NNZ, multigpu_matrices
from gpu_engine.recordings import files as recordings
from gpu_engine.verdicts.verdict import UNKNOWN_GAP
from tests.web.conftest import get
from web.figures.scaling import phases
from web.papers.base import Place
from web.papers.judgment import judge
from web.papers.msrep import BALANCE, MSREP, UNEVEN

EXHIBITS = {exhibit.label: exhibit for exhibit in MSREP.exhibits}
TWO, FOUR, H100 = "h200-x2", "h200-x4", "h100-x2"


def recorded(device: str) -> StudyData:
    """Return the reference results of a device."""
    recording = recordings.read(recordings.RECORDED / device / f"scaling{recordings.ENDING}")
    return StudyData(recording.measurements, {matrix.id: MatrixFeatures.of(matrix) for matrix in recording.matrices})


def test_the_chart_of_figure_5_has_the_matrix_with_the_most_uneven_rows() -> None:
    subjects = {subject.name for subject in multigpu_matrices(PAPER_NNZ)}
    assert {*NAMES, UNEVEN} <= subjects
    assert MSREP.trial.has(UNEVEN)
    assert BALANCE.most == len(MSREP.trial.names) == len(NAMES) + 1
    data = recorded(TWO)
    ratios = {matrix.name: ratio for matrix in data.matrices.values() if (ratio := ratio_of(matrix))}
    assert max(ratios, key=lambda name: ratios[name]) == UNEVEN


def test_the_form_generates_the_stand_ins_of_the_reference_results(client: TestClient) -> None:
    recording = recordings.read(recordings.RECORDED / TWO / f"scaling{recordings.ENDING}")
    sources = {matrix.name: matrix.source for matrix in recording.matrices}
    offered = {each.name: json.loads(each.body) for each in get(client, MSREP.href).context["trial"].generate}
    assert set(offered) == {name + STAND_IN for name in NAMES}
    for name, body in offered.items():
        source = sources[name]
        assert body == {"generator": source["generator"], **body, **source["params"], "name": name}


def test_phases_are_drawn_in_shares_of_the_time_as_in_figures_16_and_19() -> None:
    for label in ("Figure 16", "Section 5", "Figure 19"):
        (place,) = EXHIBITS[label].places
        assert isinstance(place, Place)
        assert place.choice == {phases.PHASES: (phases.SHARES,)}


def test_the_chart_of_phases_has_the_matrix_of_figure_19() -> None:
    assert {panel.matrix.partition(" (")[0] for panel in phases.info(recorded(TWO)).bars.visible} >= {FIGURE_19}


def test_two_h200_have_results_for_all_statements_but_numa() -> None:
    papers = [c for c in conclusions(recorded(TWO)) if c.scope == "paper"]
    assert len(papers) == len(STATEMENTS)
    assert [c.source for c in papers if c.says == "no data"] == ["§5.6"]
    assert {c.says for c in papers if c.source == "Figure 6"} == {"agrees"}


def test_results_without_a_control_kernel_are_marked_with_the_noise_that_they_assume() -> None:
    results = tuple((device, recorded(device)) for device in (TWO, FOUR, H100))
    ((device, note),) = judge("msrep", (("scaling", results),)).notes
    assert device == FOUR
    assert f"{100 * UNKNOWN_GAP['scaling']:.1f}" in note
