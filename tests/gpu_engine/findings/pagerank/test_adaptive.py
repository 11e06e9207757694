from dataclasses import replace

from gpu_engine.findings.overall_ranking import answers
from gpu_engine.findings.pagerank import contests
from gpu_engine.findings.pagerank.adaptive import Tally, pairs_of, papers_pairs, pays
from gpu_engine.text.units import THIN
from tests.samples.pagerank import luxembourg, ran, shown, stopped


def said(*runs: object) -> list[str]:
    return [sentence.replace(THIN, " ") for sentence in pays(shown(*runs))]  # type: ignore[arg-type]


def test_the_fastest_run_in_segments_is_held_against_the_fastest_in_fp64() -> None:
    quick = ran("csr/thread+fp64", 113, 0.1), ran("csr/thread+cpms2", (47, 66), 0.08)
    slow = ran("csr/thread+fp64", 113, 0.1, "del"), ran("csr/thread+cpms4", (1, 46, 61, 5), 0.16, "del")
    assert said(*quick, *slow) == [
        "Adaptive precision on cpu: speedup 0.88 × over the fastest fp64 run (geometric mean, range 0.62 × to 1.25 "
        "×). Faster on 1 of 2 graphs, slower on 1."
    ]


def test_graphs_whose_times_are_not_plausible_do_not_count() -> None:
    quiet = ran("csr/thread+fp64", 113, 0.1), ran("csr/thread+cpms2", (47, 66), 0.08)
    (busy, trace), other = ran("csr/thread+fp64", 113, 0.1, "del"), ran("csr/thread+cpms2", (47, 66), 0.01, "del")
    noisy = replace(busy, aa_gap=0.9), trace
    assert said(noisy, other) == []
    (sentence,) = said(*quiet, noisy, other)
    assert sentence.endswith("speedup 1.25 × over the fastest fp64 run. Faster on 1 of 1 graph, slower on 0.")


def test_what_is_wrong_or_in_full_bits_is_no_run_in_segments() -> None:
    full = ran("csr/thread+fp64", 113, 0.1)
    wrong = ran("csr/thread+cpms2", (47, 66), 0.05, residual=1e-3)
    whole = ran("csr/thread+cpms4", (0, 0, 0, 113), 0.05)
    assert said(full, wrong, whole) == []
    assert said(full, stopped("csr/thread+cpms2", "skipped", "too large")) == []
    assert len(said(*luxembourg(), *luxembourg("cuda:0"))) == 2, "a sentence a device"


def test_lower_triangles_have_a_sentence_and_an_answer_of_their_own() -> None:
    lower = (("triangle", "lower"),)
    whole = ran("csr/thread+fp64", 113, 0.1), ran("csr/thread+cpms2", (47, 66), 0.08)
    half = ran("csr/thread+fp64", 90, 0.1, axes=lower), ran("csr/thread+cpms2", (40, 50), 0.2, axes=lower)
    assert [sentence.partition(" the speed")[0] for sentence in said(*whole, *half)] == [
        "Adaptive precision on cpu: speedup 1.25 × over the fastest fp64 run. Faster on 1 of 1 graph, slower on 0.",
        "Adaptive precision on cpu, lower triangles: speedup 0.50 × over the fastest fp64 run. Faster on 0 of 1 "
        "graph, slower on 1.",
    ]
    assert [a.where for a in answers(contests(shown(*whole, *half)))] == [
        "on cpu, warm",
        "on cpu, warm, lower triangles",
    ]


def test_whether_something_pays_is_a_matter_of_all_graphs_or_most() -> None:
    def tally(*times: float) -> Tally:
        runs = [
            run
            for number, time in enumerate(times)
            for run in (
                ran("csr/thread+fp64", 113, 0.1, f"m{number}"),
                ran("csr/thread+cpms2", (47, 66), time, f"m{number}"),
            )
        ]
        ((_, pairs),) = pairs_of(shown(*runs)).items()
        return Tally(tuple(pairs))

    assert tally(0.08).pays == "yes"
    assert tally(0.12).pays == "no"
    assert tally(0.08, 0.08, 0.12).pays == "partly"
    assert tally(*[0.08] * 6).pays == "yes"
    mixed = tally(*[0.02] * 4, *[0.15] * 4)
    assert mixed.mean > 1
    assert mixed.pays == "inconclusive", "half of the graphs are slower, and the CI of the mean contains 1"
    low, high = mixed.interval or (0.0, 0.0)
    assert low < 1 < high
    close = tally(0.0995, *[0.1005] * 6)
    assert close.pays == "no", "the CI of the mean excludes a speedup above the limit of equal times"
    assert (close.interval or (0.0, 0.0))[1] < 1.03
    assert sum(mixed.verdicts.values()) == 8


def test_the_papers_kernels_are_held_against_each_other() -> None:
    axes = (("start_segments", "1"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
    fused = ran("csr/thread+fp64", 113, 0.05, device="cuda:0")
    full = ran("csr/thread+unfused-fp64", 113, 0.1, device="cuda:0")
    slow = ran("ell/thread+unfused-fp64", 113, 0.3, device="cuda:0")
    other = ran("csr/thread+unfused-cpms2", (47, 66), 0.08, device="cuda:0", axes=axes)
    data = shown(fused, full, slow, other)
    ((place, (pair,)),) = papers_pairs(data).items()
    assert place == "cuda:0"
    assert (pair.full.measurement.kernel, pair.other.measurement.kernel) == (
        "csr/thread+unfused-fp64",
        "csr/thread+unfused-cpms2",
    )
    ((_, (over_fastest,)),) = pairs_of(data).items()
    assert over_fastest.full.measurement.kernel == "csr/thread+fp64"
    assert (pair.verdict, over_fastest.verdict) == ("faster", "slower")
    assert papers_pairs(shown(ran("csr/thread+fp64", 113), ran("csr/thread+cpms2", (47, 66)))) == {}
