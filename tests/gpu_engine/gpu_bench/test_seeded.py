"""The benchmark of seed sets: what it measures, and its tables from made-up records."""

from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.seeded import CHANGES, EPSILONS, SETS, SUBJECTS, TABLES, passes
from gpu_engine.recordings.files import MatrixRecord, Recording
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.seeded import SeededStudy
from tests.gpu_engine.gpu_bench.sections import cells, sections
from tests.samples.seeded import every

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)


def test_every_graph_has_both_tolerances() -> None:
    assert SUBJECTS
    assert BENCHMARKS["seeded"].subjects is SUBJECTS
    made = list(passes(SUBJECTS[0], "cuda", 11))
    assert [(p.epsilon, p.seeds, p.start, p.rounds, p.sampling) for p in made] == [
        (epsilon, SETS, CHANGES, 11, "fixed") for epsilon in EPSILONS
    ]
    cases = [c.key for p in made for c in SeededStudy().cases(p, [MatrixInfo("m", "m", 9, 9, 9)], GPU)]
    assert len(cases) == len(set(cases))


def test_its_tables_have_costs_and_starts() -> None:
    matrix = MatrixRecord("web", "web20k", "graph", 20_000, 20_000, 127_601)
    recording = Recording("seeded", "2026-11-28T00:00:00+00:00", GPU, None, (matrix,), tuple(every()))
    tables = sections(TABLES, SUBJECTS, recording)
    costs = next(section for title, section in tables.items() if "over that of one" in title)
    assert [row[0] for row in cells(costs.table, "seed sets")] == ["1", "8", "32"]
    starts = next(section for title, section in tables.items() if title.startswith("Iterations after"))
    assert cells(starts.table, "iterations cold start", "iterations extrapolated") == [("64", "30")]
