"""The page of the batched SpMV paper: its statements by figure, the printed rates, and the outlook."""

from gpu_engine.findings.batched.conclusions import STATEMENTS
from gpu_engine.findings.batched.outlook import devices_text, energy_text, resources_text
from gpu_engine.findings.batched.paper import NAMES, RATES, SIMILAR
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.parameters import parse_params
from gpu_engine.records import Measurement
from gpu_engine.studies.batched import BatchedParams
from tests.samples.batched import copies, multiplied, shown
from web.papers.flexible_batched_spmv import FLEXIBLE_BATCHED_SPMV as PAPER

EXHIBITS = {exhibit.label: exhibit for exhibit in PAPER.exhibits}


def mixture(names: tuple[str, ...]) -> list[Measurement]:
    members, key = {"matrices": ", ".join(names)}, f"{len(names)}-{names[0]}"
    return [
        multiplied(kernel, 100.0, matrix=names[0], compose="mixed", mixture=key, environment=members)
        for kernel in RATES["Figure 6"]
    ]


def test_the_conclusion_and_the_summary_have_their_statements() -> None:
    places = {"Section 4": "§4.2", "Section 5": "§5"}
    for label in ("Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure 7", *places):
        own = [s for s in STATEMENTS if EXHIBITS[label].has(s.unjudged())]
        assert {s.place for s in own} == {places.get(label, label)}


def test_figures_6_and_7_have_a_table_of_the_printed_rates() -> None:
    results = {"batched": StudyData(mixture(SIMILAR), {name: MatrixFeatures(name) for name in NAMES})}
    tables = [EXHIBITS[label].table for label in ("Figure 6", "Figure 7")]
    assert [len(table(results).rows) for table in tables if table] == [8, 0]


def test_the_energy_is_drawn_and_its_line_has_a_number() -> None:
    (first, *_) = EXHIBITS["Section 5"].places
    assert first.part == "batched-energy"
    resources, energy, devices = PAPER.outlook
    assert [each.state for each in PAPER.outlook] == ["realized", "realized", "partly"]
    assert first in energy.where
    data = shown(*(m.with_(energy_j=1e-3) for m in copies()), multiplied("auto/flexible", 200.0, energy_j=1e-3))
    texts = resources_text(data), energy_text(data), devices_text(data)
    for each, text in zip((resources, energy, devices), texts, strict=True):
        assert callable(each.number)
        assert text
        assert each.number({"batched": data}).startswith(text)
        assert each.number({"batched": StudyData()}) == ""


def test_the_form_measures_all_kernels_with_their_energy() -> None:
    params = parse_params(BatchedParams, PAPER.trial.params)
    assert (params.sampling, params.energy) == ("fixed", "all")
    assert params.energy_s > BatchedParams().energy_s
    assert PAPER.trial.has("EX25 (stand-in)")
