"""What the page of the CPMS PageRank paper queues, and its lines of future work."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.conclusions import NEEDED, is_needed
from gpu_engine.findings.pagerank.paper import GRAPHS
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.pagerank import PagerankParams, PagerankStudy
from gpu_engine.text.units import THIN
from tests.samples.pagerank import ran, shown
from web.papers.base import Place
from web.papers.cpms_pagerank import CPMS_PAGERANK


def test_the_papers_experiment_is_what_is_queued_and_no_kernel_is_left_out() -> None:
    params = parse_params(PagerankParams, CPMS_PAGERANK.trial.params)
    assert (params.triangle, params.sampling, params.damping, params.epsilon) == ("lower", "fixed", 0.85, 1e-10)
    device = DeviceInfo("cuda:0", "cuda", "A GPU", 2**34, 2**25)
    cases = list(PagerankStudy().cases(params, [MatrixInfo("m", "m", 900, 900, 4322)], device))
    assert {case.kernel for case in cases if is_needed(case)} == set(NEEDED)
    assert all(CPMS_PAGERANK.trial.has(f"{graph.name} (stand-in)") for graph in GRAPHS)


def test_each_figure_with_numbers_is_drawn_from_the_study_that_judges_it() -> None:
    studies = {exhibit.label: exhibit.places[0].study for exhibit in CPMS_PAGERANK.exhibits if exhibit.places}
    sources = {c.source: study for study, judge in CPMS_PAGERANK.judges.items() for c in judge(StudyData())}
    assert {label: studies[label] for label in sources} == sources
    assert sources["Figure 4"] == "reduced_spmv"
    assert set(sources) == {"Section IV", "Figure 3", "Table II", "Figure 4", "Figure 5", "Figure 6"}


def test_the_outlook_has_a_number_where_something_was_measured() -> None:
    layouts, others = CPMS_PAGERANK.outlook
    assert (layouts.state, others.state, others.where) == ("realized", "not yet", ())
    assert isinstance(layouts.where[0], Place)
    assert callable(layouts.number)
    assert layouts.number({}) == layouts.number({"pagerank": StudyData()}) == ""
    runs = [ran(kernel, 113, time) for kernel, time in (("csr/thread+fp64", 1.0), ("split/tile+fp64", 0.5))]
    assert f"2.00{THIN}× on cpu (graphs: 1)" in layouts.number({"pagerank": shown(*runs)})
