"""The CPMS paper's statements on complete runs, judged by runs of which the numbers are known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gpu_engine.findings.conclusions import Conclusion, Scope
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.conclusions import NEEDED, STATEMENTS, conclusions, is_needed, table
from gpu_engine.findings.pagerank.figure_six import FIGURE_FIVE, FIGURE_SIX, SECTION_FOUR
from gpu_engine.findings.pagerank.table_two import MEMORY, TABLE_TWO
from gpu_engine.pagerank.kernels import KERNELS
from gpu_engine.records import Case, Measurement, Trace
from gpu_engine.text.units import THIN
from tests.samples.pagerank import LUXEMBOURG, SCHEDULE, luxembourg, ran, shown, stopped

SEGMENTS_AT_END = (("start_segments", "1"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "segments"))
LOWER = (("triangle", "lower"),)
MORE, SINGLE, FEW, FULL, QUALITY = (statement.text for statement in TABLE_TWO)
(TOO_LARGE,) = (statement.text for statement in MEMORY)
THREADS, *CONVERTED = (statement.text for statement in SECTION_FOUR)
*CHANGES, SHARES = (statement.text for statement in FIGURE_FIVE)
NEVER, NEVER_ELL, RANGE, RANGE_ELL, RGG, RGG_ELL, BRK, BETTER, BETTER_ELL, SLOWER, FOUR_IN_ELL, ALIKE, LARGEST = (
    statement.text for statement in FIGURE_SIX
)
Given = tuple[Measurement, Trace] | Measurement


def named(data: StudyData, name: str) -> StudyData:
    """The data with another name of its first matrix."""
    return replace(data, matrices={**data.matrices, "lux": replace(LUXEMBOURG, name=name)})


def judged(*runs: Given, name: str = "", scope: Scope = "all") -> dict[str, tuple[str, str]]:
    """Statement → (what the runs say, the numbers) of a lone device; name: of the graph."""
    data = named(shown(*runs), name) if name else shown(*runs)
    chosen = {c.statement: c for c in conclusions(data) if c.scope == "paper"}
    chosen |= {c.statement: c for c in conclusions(data) if c.scope == scope}
    return {statement: (c.says, c.numbers.replace(THIN, " ")) for statement, c in chosen.items()}


def three(
    full: int = 113,
    two: Sequence[int] = (47, 66),
    four: Sequence[int] = (1, 46, 61, 5),
    times: Sequence[float] = (1.0, 0.9, 0.95),
    layout: str = "csr/thread",
    how: str = "unfused-",
    axes: tuple[tuple[str, str], ...] = (),
) -> tuple[Given, ...]:
    """The runs of luxembourg_osm in fp64, two and four segments, by the paper's kernels."""
    counts: dict[str, int | Sequence[int]] = {"fp64": full, "cpms2": two, "cpms4": four}
    return tuple(
        ran(f"{layout}+{how}{p}", count, time, axes=axes)
        for (p, count), time in zip(counts.items(), times, strict=True)
    )


def test_what_a_statement_is_judged_by_is_needed_and_nothing_else() -> None:
    every = {
        kernel.name: ran(kernel.name, {2: (47, 66), 4: (1, 46, 61, 5)}.get(kernel.segments, 113), 1.0 + number / 100)
        for number, kernel in enumerate(KERNELS)
        if not kernel.refined
    }
    fused = [
        {name: run for name, run in every.items() if name.startswith(layout) and "unfused" not in name}
        for layout in ("csr/thread", "ell/thread")
    ]

    def decides(runs: Mapping[str, Given], name: str) -> bool:
        return judged(*runs.values()) != judged(*(run for other, run in runs.items() if other != name))

    matter = {name for runs in (every, *fused) for name in runs if decides(runs, name)}
    needed = {name for name in every if is_needed(Case("m", name, "warm", SCHEDULE if "cpms" in name else ()))}
    assert needed == matter
    assert needed == set(NEEDED)
    assert len(needed) == 13
    assert not is_needed(Case("m", "csr/thread+cpms2", "warm", SEGMENTS_AT_END))
    assert not is_needed(Case("m", "cugraph", "warm"))


def test_fused_kernels_give_iterations_but_no_times() -> None:
    judgments = judged(*luxembourg())
    assert {text: says for text, (says, _) in judgments.items() if says != "no data"} == dict.fromkeys(
        (MORE, SINGLE, FEW, FULL, QUALITY), "agrees"
    )
    assert judgments[MORE][1] == "Holds for 1 of 1. For luxembourg_osm 113 in fp64, 113 and 113 in segments."


def test_the_papers_kernels_are_judged_and_fused_ones_beside_them_are_not() -> None:
    judgments = judged(
        *three(), *three(times=(1.0, 1.2, 1.5), how=""), *three(times=(1.0, 1.3, 1.6), how="", layout="ell/thread")
    )
    assert {text: says for text, (says, _) in judgments.items() if says != "no data"} == {
        **dict.fromkeys((MORE, SINGLE, FEW, FULL, QUALITY, NEVER, RANGE, BETTER, CHANGES[0], CONVERTED[0]), "agrees"),
        **dict.fromkeys((SLOWER, LARGEST), "disagrees"),
    }
    assert judgments[NEVER][1].endswith("luxembourg_osm 1.11 × (faster).")


def test_iterations_are_counted_once_a_graph_and_by_segments() -> None:
    both = (*three(), *three(layout="ell/thread"))
    assert judged(*both)[MORE][1].startswith("Holds for 1 of 1.")
    assert judged(*three(full=112))[MORE][0] == "agrees"
    assert judged(*three(full=111))[MORE] == (
        "disagrees",
        "Holds for 0 of 1. Not for luxembourg_osm 111 in fp64, 113 and 113 in segments.",
    )
    assert judged(*three())[FEW][1].endswith(" 1/46/61/5 iterations in 16/32/48/64 bits.")
    assert judged(*three(four=(2, 46, 60, 5)))[SINGLE][0] == "disagrees"
    assert judged(*three(four=(1, 46, 20, 46)))[FEW][0] == "disagrees"
    assert judged(*three(four=(1, 3, 106, 3)))[FEW][0] == "agrees"
    assert judged(*three(four=(20, 46, 7, 40)))[FEW][0] == "disagrees"
    assert judged(*three(two=(57, 57)))[FULL][0] == "disagrees"


def test_the_matrix_that_the_paper_excepts_is_not_counted() -> None:
    many = three(four=(1, 49, 1, 68))
    assert judged(*many)[FEW][0] == "disagrees"
    assert judged(*many, name="web-BerkStan (stand-in)")[FEW][0] == "no data"
    assert judged(*many, name="web-BerkStan (stand-in)")[SINGLE][0] == "agrees"


def test_quality_counts_runs_whose_ranks_are_wrong() -> None:
    full, two, _ = three()
    wrong = ran("csr/thread+unfused-cpms4", (1, 46, 61, 5), 0.9, residual=1e-9)
    assert judged(full, two, wrong)[QUALITY] == (
        "disagrees",
        "Holds for 0 of 1. Not for luxembourg_osm largest residual 10⁻⁹.",
    )
    stopped_early = ran("csr/thread+unfused-cpms4", (1, 46, 61, 5), 0.9, residual=1e-9, state="unconverged")
    assert judged(full, two, stopped_early)[QUALITY][0] == "disagrees"
    assert judged(full, two)[QUALITY][0] == "no data"


@pytest.mark.parametrize(
    ("note", "says", "size"),
    [
        ("needs 182 GB, 75.1 GB allowed", "agrees", "needs 182 GB"),
        ("needs 1e+04 GB of memory; the limit is 75.1 GB", "agrees", "needs 10.0 TB"),
        ("needs 15.9 GB of memory; the limit is 4 GB", "disagrees", "needs 15.9 GB"),
    ],
)
def test_what_ell_needs_comes_from_runs_that_did_not_fit(note: str, says: str, size: str) -> None:
    for precision in ("fp64", "unfused-fp64"):
        skipped = stopped(f"ell/thread+{precision}", "skipped", note)
        judgments = judged(skipped, name="web-Google (stand-in)")[TOO_LARGE]
        assert (judgments[0], size in judgments[1]) == (says, True)
    assert judged(stopped("ell/thread+fp64", "skipped", note), name="Stanford")[TOO_LARGE][0] == "no data"


def test_a_run_that_fits_has_the_bytes_of_its_layout() -> None:
    for stored, says in ((10**11, "agrees"), (10**9, "disagrees")):
        run = ran("ell/thread+unfused-fp64", 113, 1.0, stored_bytes=stored)
        assert judged(run, name="wb-edu")[TOO_LARGE][0] == says


def test_whole_runs() -> None:
    equal, slower = judged(*three(times=(1.0, 1.0, 0.9))), judged(*three(times=(1.0, 1.2, 1.5)))
    assert (equal[NEVER][0], equal[RANGE][0], equal[BETTER][0], equal[SLOWER][0]) == ("agrees", *["disagrees"] * 3)
    assert (slower[NEVER][0], slower[BETTER][0], slower[SLOWER][0]) == ("disagrees", "agrees", "agrees")
    assert slower[NEVER_ELL][0] == slower[ALIKE][0] == "no data"


@pytest.mark.parametrize(
    ("gain", "says"), [(1.049, "disagrees"), (1.051, "agrees"), (1.249, "agrees"), (1.251, "disagrees")]
)
def test_a_printed_range_is_wider_by_half_a_unit(gain: float, says: str) -> None:
    assert judged(*three(times=(1.0, 1.0 / gain, 1.0)))[RANGE][0] == says


def test_layouts_are_judged_apart_and_compared() -> None:
    judgments = judged(*three(), *three(layout="ell/thread", times=(1.0, 1.2, 0.8)))
    assert (judgments[NEVER][0], judgments[NEVER_ELL][0]) == ("agrees", "disagrees")
    assert (judgments[BETTER][0], judgments[BETTER_ELL][0]) == ("agrees", "disagrees")
    assert judgments[FOUR_IN_ELL] == ("agrees", "Holds for 1 of 1. For luxembourg_osm 1.05 × in CSR and 1.25 × in ELL.")
    assert (judgments[ALIKE][0], judgments[LARGEST][0]) == ("disagrees", "agrees")
    for time, says in ((1 / 1.205, "agrees"), (1 / 1.22, "disagrees")):
        assert judged(*three(), *three(layout="ell/thread", times=(1.0, time, 1.0)))[ALIKE][0] == says
    assert judged(*three(), *three(layout="ell/thread"))[FOUR_IN_ELL][0] == "disagrees"


def test_two_matrices_have_statements_of_their_own() -> None:
    rgg, brk = "rgg_n_2_24_s0 (stand-in)", "web-BerkStan"
    fast, slow = three(times=(1.0, 1 / 1.26, 1.0), axes=LOWER), three(times=(1.0, 1 / 1.24, 1.0), axes=LOWER)
    assert (judged(*fast, name=rgg)[RGG][0], judged(*slow, name=rgg)[RGG][0]) == ("agrees", "disagrees")
    assert judged(*three(times=(1.0, 1 / 1.4, 1.0), axes=LOWER), name=rgg)[RGG][0] == "agrees"
    assert judged(*fast, name=rgg)[RGG_ELL][0] == judged(*fast)[RGG][0] == "no data"
    assert judged(*fast, name=rgg)[RANGE][0] == "no data"
    judgments = judged(*three(times=(1.0, 1.04, 1.0)), name=brk)
    assert (judgments[BRK][0], judgments[RANGE][0], judgments[NEVER][0]) == ("agrees", "no data", "disagrees")
    assert judged(*three(times=(1.0, 0.9, 1.0)), name=brk)[BRK][0] == "disagrees"


def test_one_case_is_enough_for_some_and_the_most_is_named() -> None:
    other = [
        ran(f"csr/thread+unfused-{p}", n, t, matrix="del")
        for p, n, t in (("fp64", 28, 1.0), ("cpms2", (13, 15), 0.7), ("cpms4", (1, 12, 13, 2), 1.5))
    ]
    judgments = judged(*three(), *other)
    assert judgments[SLOWER] == ("agrees", "Holds for 1 of 2. Such as delaunay_n15 0.67 × (slower) in CSR.")
    assert judgments[LARGEST] == ("agrees", "Holds for 1 of 2. Such as delaunay_n15 1.43 × in CSR, two segments.")
    assert judged(*three())[LARGEST][1] == "Holds for 0 of 1. Nearest: luxembourg_osm 1.11 × in CSR, two segments."


def test_changes_of_precision_take_less_than_the_iterations() -> None:
    assert judged(*three())[CHANGES[0]][0] == "agrees"
    assert judged(*three())[CHANGES[1]][0] == "no data"
    few = judged(*three(four=(1, 1, 106, 5)))[CHANGES[0]]
    assert few[0] == "disagrees"


def longer(run: Given, times: float) -> Given:
    """The run with pulls of so many times the time in its last precision."""
    assert isinstance(run, tuple)
    measurement, trace = run
    last = trace.arrays["written"][-1]
    pulls = zip(trace.arrays["pull_s"], trace.arrays["read"], strict=True)
    arrays = {**trace.arrays, "pull_s": tuple(pull * (times if read == last else 1.0) for pull, read in pulls)}
    return measurement, replace(trace, arrays=arrays)


def test_the_shares_of_the_precisions_are_compared_between_the_layouts() -> None:
    csr, (full, two, four) = three(), three(layout="ell/thread")
    assert judged(*csr, full, two, four)[SHARES] == (
        "agrees",
        "Holds for 1 of 1. For luxembourg_osm largest difference 0 % of a run.",
    )
    assert judged(*csr, full, longer(two, 1.2), four)[SHARES][0] == "agrees"
    assert judged(*csr, full, longer(two, 2.0), four)[SHARES][0] == "disagrees"
    assert judged(*csr, full, longer(two, 2.0))[SHARES][0] == "disagrees"
    assert judged(*csr)[SHARES][0] == judged(*csr, full)[SHARES][0] == "no data"


@pytest.mark.parametrize(
    ("times", "says"), [(0.93, "disagrees"), (0.96, "agrees"), (1.04, "agrees"), (1.07, "disagrees")]
)
def test_an_iteration_after_the_conversion_takes_as_long_as_in_fp64(times: float, says: str) -> None:
    full, two, four = three()
    judgments = judged(full, longer(two, times), four)
    assert (judgments[CONVERTED[0]][0], judgments[CONVERTED[1]][0]) == (says, "no data")
    assert f" {(1.0 * times + 0.1) / 1.1:.3f} ×." in judgments[CONVERTED[0]][1]
    assert judged(*three(two=(112, 1)))[CONVERTED[0]][0] == "no data"
    assert judged(two, four)[CONVERTED[0]][0] == judged(full, four)[CONVERTED[0]][0] == "no data"


def test_what_the_paper_says_without_generally_is_about_each_graph() -> None:
    other = [
        ran(f"{layout}/thread+unfused-{p}", n, t, matrix="del")
        for layout, two, four in (("csr", 1 / 1.5, 1 / 1.2), ("ell", 1 / 1.5, 1 / 1.2))
        for p, n, t in (("fp64", 28, 1.0), ("cpms2", (15, 13), two), ("cpms4", (1, 12, 13, 2), four))
    ]
    third = [
        *three(times=(1.0, 1 / 1.1, 1 / 1.15)),
        *three(layout="ell/thread", times=(1.0, 1 / 1.15, 1 / 1.2)),
    ]
    judgments = judged(*third, *other)
    assert {judgments[text][0] for text in (FULL, FOUR_IN_ELL, BETTER, BETTER_ELL)} == {"seldom"}
    two_of_three = [*third, *three(axes=(("damping", "0.9"),)), *other]
    assert judged(*two_of_three)[FULL][0] == "mostly"
    assert judged(*third, *three(axes=(("damping", "0.9"),), times=(1.0, 0.8, 0.9)), *other)[BETTER][0] == "agrees"


def test_several_threads_a_row_against_one() -> None:
    one, several = three(how="")[0], ran("csr/vector+fp64", 113, 1.2)
    assert judged(one, several)[THREADS] == (
        "agrees",
        "Holds for 1 of 1. For luxembourg_osm 0.83 × (slower), fused.",
    )
    assert judged(one, ran("csr/vector+fp64", 113, 0.8))[THREADS][0] == "disagrees"
    assert judged(one, ran("csr/vector+fp64", 113, 0.8, residual=1e-9))[THREADS][0] == "no data"


def test_only_the_papers_layouts_schedule_and_right_ranks_count() -> None:
    full = ran("csr/thread+unfused-fp64", 113, 1.0)
    for other in (
        ran("csr/thread+unfused-cpms2", (47, 66), 0.9, residual=1e-9),
        ran("csr/thread+unfused-cpms2", (47, 66), 0.9, axes=SEGMENTS_AT_END),
        ran("split/tile+cpms2", (47, 66), 0.9),
    ):
        assert judged(full, other)[NEVER] == ("no data", "No graph has the required timings.")


def of(text: str, data: StudyData) -> dict[Scope, Conclusion]:
    """Scope → conclusion of a statement on a lone device."""
    return {c.scope: c for c in conclusions(data) if c.statement == text}


def test_the_papers_problems_are_lower_triangles_of_its_symmetric_matrices() -> None:
    lower, whole = three(axes=LOWER), three(times=(1.0, 1.2, 1.0))
    both = of(NEVER, named(shown(*lower, *whole), "road_usa (stand-in)"))
    assert (both["paper"].says, both["all"].says) == ("agrees", "seldom")
    assert "road_usa (stand-in), whole 0.83" in both["all"].numbers
    assert of(NEVER, named(shown(*lower), "road_usa"))["paper"].says == "agrees"
    assert {scope: c.says for scope, c in of(NEVER, named(shown(*lower), "another")).items()} == {
        "paper": "no data",
        "all": "agrees",
    }


def test_other_parameters_are_another_problem() -> None:
    data = named(shown(*three(axes=(*LOWER, ("damping", "0.9")))), "road_usa")
    assert {scope: c.says for scope, c in of(NEVER, data).items()} == {"paper": "no data", "all": "agrees"}
    assert "road_usa, δ 0.9, lower triangle 1.11" in of(NEVER, data)["all"].numbers


def test_a_web_graph_is_whole_either_way_and_counts_once() -> None:
    lower, whole = three(axes=LOWER), three(times=(1.0, 1.2, 1.0))
    assert of(NEVER, named(shown(*whole), "Stanford"))["paper"].says == "disagrees"
    (one,) = of(NEVER, named(shown(*lower, *whole), "Stanford")).values()
    assert (one.scope, one.says, one.numbers[:17]) == ("paper", "agrees", "Holds for 1 of 1.")


def test_a_row_a_statement_and_device_none_without_runs() -> None:
    assert [c.says for c in conclusions(StudyData())] == ["no data"] * len(STATEMENTS)
    assert table(StudyData()).rows == ()
    rows = table(shown(*luxembourg(), *luxembourg("cuda:0"))).rows
    texts = list(dict.fromkeys(row[0] for row in rows))
    assert texts == [statement.text for statement in STATEMENTS]
    assert {row[-2:] for row in rows} == {("cpu", "warm"), ("cuda:0", "warm")}
