from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.conclusions import STATEMENTS, conclusions, is_needed, table
from gpu_engine.pagerank.kernels import KERNELS
from gpu_engine.records import Case, Measurement, Trace
from gpu_engine.text.units import THIN
from tests.samples.pagerank import SCHEDULE, luxembourg, ran, shown

SEGMENTS_AT_END = (("start_segments", "1"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "segments"))
TEXTS = tuple(statement.text for statement in STATEMENTS)
MORE, SINGLE, FEW, FULL, HEADS_OF_TWO, HEADS_OF_FOUR, TWO_OF_FOUR, THREE, NEVER, TENTH, BETTER, ALIKE, THREADS = TEXTS

Given = tuple[Measurement, Trace] | Measurement


def judged(*runs: Given) -> dict[str, tuple[str, str]]:
    """Statement → (what the runs say, the numbers) of a lone device."""
    return {c.statement: (c.says, c.numbers.replace(THIN, " ")) for c in conclusions(shown(*runs))}


def three(
    full: int = 113,
    two: Sequence[int] = (47, 66),
    four: Sequence[int] = (1, 46, 61, 5),
    times: Sequence[float] = (1.0, 0.9, 0.95),
    layout: str = "csr/thread",
) -> tuple[Given, ...]:
    """The runs of luxembourg_osm in fp64, two and four segments."""
    counts: dict[str, int | Sequence[int]] = {"fp64": full, "cpms2": two, "cpms4": four}
    return tuple(ran(f"{layout}+{p}", count, time) for (p, count), time in zip(counts.items(), times, strict=True))


def with_pulls(run: Given, seconds: dict[int, float]) -> Given:
    """The run with products that take so long by the number of segments that they read."""
    assert isinstance(run, tuple)
    m, trace = run
    pulls = tuple(seconds[int(read)] for read in trace.arrays["read"])
    return m, replace(trace, arrays={**trace.arrays, "pull_s": pulls})


def test_what_a_statement_is_judged_by_is_needed_and_nothing_else() -> None:
    every = {
        kernel.name: ran(kernel.name, {2: (47, 66), 4: (1, 46, 61, 5)}.get(kernel.segments, 113), 1.0 + number / 100)
        for number, kernel in enumerate(KERNELS)
        if not kernel.refined
    }
    fused = {name: run for name, run in every.items() if "unfused" not in name}

    def decides(runs: Mapping[str, Given], name: str) -> bool:
        return judged(*runs.values()) != judged(*(run for other, run in runs.items() if other != name))

    matter = {name for runs in (every, fused) for name in runs if decides(runs, name)}
    needed = {name for name in every if is_needed(Case("m", name, "warm", SCHEDULE if "cpms" in name else ()))}
    assert needed == matter
    assert len(needed) == 13
    assert not is_needed(Case("m", "csr/thread+cpms2", "warm", SEGMENTS_AT_END))
    assert not is_needed(Case("m", "cugraph", "warm"))


def test_what_the_sample_says_of_every_statement() -> None:
    found = judged(*luxembourg())
    assert {text: says for text, (says, _) in found.items()} == {
        **dict.fromkeys((MORE, SINGLE, FEW, FULL, HEADS_OF_TWO, HEADS_OF_FOUR, NEVER, TENTH), "agrees"),
        **dict.fromkeys((TWO_OF_FOUR, THREE, BETTER), "disagrees"),
        **dict.fromkeys((ALIKE, THREADS), "no data"),
    }
    assert found[MORE][1] == "Holds for 1 of 1. For luxembourg_osm in csr 113 in fp64, 113 and 113 in segments."
    assert found[HEADS_OF_TWO][1].endswith("luxembourg_osm in csr 1.67 ×.")
    assert found[NEVER][1].endswith("1.14 × (faster).")


def test_iterations_are_counted_by_segments() -> None:
    assert judged(*three(full=112))[MORE][0] == "agrees"
    assert judged(*three(full=111))[MORE] == (
        "disagrees",
        "Holds for 0 of 1. Not for luxembourg_osm in csr 111 in fp64, 113 and 113 in segments.",
    )
    assert judged(*three())[FEW][1].endswith("in csr 1/46/61/5 iterations in 16/32/48/64 bits.")
    assert judged(*three(four=(2, 46, 60, 5)))[SINGLE][0] == "disagrees"
    assert judged(*three(four=(1, 46, 50, 11)))[FEW][0] == "disagrees"
    assert judged(*three(two=(60, 53)))[FULL][0] == "disagrees"


def test_products_are_held_against_the_same_kernel_in_fp64() -> None:
    full, two, four = three()
    slow = judged(
        full, with_pulls(two, {1: 0.75e-3, 2: 1e-3}), with_pulls(four, {1: 0.56e-3, 2: 0.8e-3, 3: 1.1e-3, 4: 1})
    )
    assert (slow[HEADS_OF_TWO][0], slow[HEADS_OF_FOUR][0]) == ("disagrees", "disagrees")
    assert slow[TWO_OF_FOUR] == ("agrees", "Holds for 1 of 1. For luxembourg_osm in csr 1.25 × to 1.33 ×.")
    assert slow[THREE] == ("agrees", "Holds for 1 of 1. For luxembourg_osm in csr 0.91 ×.")


def test_the_papers_own_kernels_are_judged_where_they_ran() -> None:
    own = [ran(f"csr/thread+unfused-{p}", n, t) for p, n, t in (("fp64", 113, 1.0), ("cpms2", (47, 66), 0.8))]
    assert judged(*three(times=(1.0, 1.2, 1.5)), *own)[NEVER] == (
        "agrees",
        "Holds for 1 of 1. For luxembourg_osm in csr, unfused 1.25 × (faster).",
    )
    assert judged(*three(times=(1.0, 1.2, 1.5)), own[1])[NEVER][0] == "disagrees"


def test_whole_runs() -> None:
    equal, slower = judged(*three(times=(1.0, 1.0, 0.9))), judged(*three(times=(1.0, 1.2, 1.5)))
    assert (equal[NEVER][0], equal[TENTH][0], equal[BETTER][0]) == ("agrees", "disagrees", "disagrees")
    assert (slower[NEVER][0], slower[BETTER][0]) == ("disagrees", "agrees")
    both = (*three(), *three(layout="ell/thread", times=(1.0, 0.85, 0.9)))
    assert judged(*both)[ALIKE] == ("agrees", "Holds for 1 of 1. For luxembourg_osm in csr 1.11 × and 1.18 × in ell.")
    assert judged(*three(), *three(layout="ell/thread", times=(1.0, 0.7, 0.9)))[ALIKE][0] == "disagrees"


def test_several_threads_a_row_against_one() -> None:
    several = ran("csr/vector+fp64", 113, 1.2)
    assert judged(*three(), *three(layout="ell/thread"), several)[THREADS] == (
        "agrees",
        "Holds for 1 of 1. For luxembourg_osm in csr 0.83 × (slower).",
    )
    assert judged(*three(), ran("csr/vector+fp64", 113, 0.8))[THREADS][0] == "disagrees"
    assert judged(*three(), ran("csr/vector+fp64", 113, 0.8, residual=1e-9))[THREADS][0] == "no data"


def test_ratios_of_several_have_a_geometric_mean() -> None:
    numbers = judged(*three(times=(1.0, 0.8, 1.0)), *three(layout="ell/thread", times=(1.0, 0.5, 1.0)))[TENTH][1]
    assert numbers.startswith("Holds for 2 of 2, geometric mean 1.58 ×. For luxembourg_osm in csr 1.25 ×; ")


def test_only_the_papers_layouts_schedule_and_right_ranks_count() -> None:
    full = ran("csr/thread+fp64", 113, 1.0)
    for other in (
        ran("csr/thread+cpms2", (47, 66), 0.9, residual=1e-9),
        ran("csr/thread+cpms2", (47, 66), 0.9, axes=SEGMENTS_AT_END),
        ran("split/tile+cpms2", (47, 66), 0.9),
    ):
        assert judged(full, other)[NEVER] == ("no data", "No graph has the required timings.")


def test_a_row_a_statement_and_device_none_without_runs() -> None:
    assert [c.says for c in conclusions(StudyData())] == ["no data"] * len(STATEMENTS)
    assert table(StudyData()).rows == ()
    rows = table(shown(*luxembourg(), *luxembourg("cuda:0"))).rows
    assert [row[0] for row in rows] == [*TEXTS, *TEXTS]
    assert [row[-2:] for row in rows[:: len(TEXTS)]] == [("cpu", "warm"), ("cuda:0", "warm")]
