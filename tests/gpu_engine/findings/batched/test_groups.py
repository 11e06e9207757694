from dataclasses import replace

import pytest

from gpu_engine.findings.batched.groups import (
    PAPER,
    bandwidth,
    batch_groups,
    is_balanced,
    largest,
    name_of,
    operation_of,
    operations,
)
from gpu_engine.findings.batched.paper import BALANCED, NAMES, is_one_of
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.recordings.files import RECORDED, read
from gpu_engine.records import Measurement
from tests.samples.batched import FEW, MATRICES, NOS3, WEST, copies, mixed, multiplied, refused, shown


def test_an_axis_ends_at_its_first_equals_sign() -> None:
    assert multiplied("csr/smart", 1.0).axes == {"batch": "1000", "compose": "uniform", "operation": "y=Ax+y"}


def test_a_group_is_one_batch_in_one_place_fastest_first() -> None:
    found = batch_groups(
        shown(
            *copies(batch_size=1000),
            *copies(batch_size=10),
            *mixed("west", "nos3"),
            *copies(device="cpu"),
            multiplied("csr/smart", 1.0, cache="cold"),
        )
    )
    assert [(g.compose, g.batch_size, g.device, g.cache) for g in found] == [
        ("mixed", 1000, "cuda:0", "warm"),
        ("uniform", 10, "cuda:0", "warm"),
        ("uniform", 1000, "cuda:0", "warm"),
        ("uniform", 1000, "cpu", "warm"),
        ("uniform", 1000, "cuda:0", "cold"),
    ]
    assert [m.kernel for m in found[0].timed] == ["csri/warp", "coo/segmented", "ell/thread"]
    assert found[0].members == ("west", "nos3")
    assert found[1].members == ()


def test_a_group_knows_ours_libraries_and_what_chooses() -> None:
    (group,) = batch_groups(shown(*copies(), refused("cusparse/branches", "too many")))
    assert group.timed[0].kernel == group.leaders[0] == "auto/shared"
    assert {m.kernel for m in group.timed} - {m.kernel for m in group.ours} == {"cusparse/best", "cusparse/chain"}
    assert (group.auto, group.single) == (group.of("auto/shared"), group.of("coo/segmented"))
    assert (group.peer, group.loop) == (group.of("cusparse/best"), group.of("cusparse/chain"))
    assert group.measurements[-1].kernel == "cusparse/branches"
    assert group.of("cusparse/branches") is None
    assert group.floor_gflops == pytest.approx(250.0)


def test_the_loop_is_the_one_launched_as_in_the_paper_where_it_has_a_time() -> None:
    def loop(*measurements: Measurement) -> str:
        (group,) = batch_groups(shown(*measurements, multiplied("csr/smart", 50.0)))
        assert [m.kernel for m in group.ours] == ["csr/smart"]
        assert group.single is group.of("csr/smart")
        assert group.loop is not None
        return group.loop.kernel

    chain, launched = multiplied("cusparse/chain", 5.0), multiplied("cusparse/loop", 1.0)
    ell = multiplied("ell/loop", 2.0), multiplied("ell/chain", 60.0)
    assert loop(chain, launched, *ell) == "ell/loop"
    assert loop(chain, launched) == "cusparse/loop"
    assert loop(chain, refused("cusparse/loop", "too many")) == "cusparse/chain"
    assert loop(refused("cusparse/loop", "too many"), refused("cusparse/chain", "too many")) == "cusparse/loop"


def test_operations_do_not_mix_and_the_papers_comes_first() -> None:
    both = shown(multiplied("csr/smart", 9.0, operation="y=Ax"), multiplied("csr/smart", 3.0))
    assert operations(both) == ("y=Ax+y", "y=Ax")
    assert [group.timed[0].gflops for group in batch_groups(both)] == [3.0]
    other = replace(both, chosen={"operation": ("y=Ax",)})
    assert [group.timed[0].gflops for group in batch_groups(other)] == [9.0]
    alone = shown(multiplied("csr/smart", 9.0, operation="y=Ax"))
    assert operation_of(alone) == "y=Ax"
    assert len(batch_groups(alone)) == 1
    assert batch_groups(StudyData()) == []


def test_the_largest_batch_with_a_time_stands_for_a_matrix() -> None:
    found = shown(
        *copies(batch_size=10),
        *copies(batch_size=1000),
        refused("csr/smart", "needs 41 GB", 10_000),
        *mixed("west", "d2"),
    )
    assert [(g.compose, g.batch_size) for g in largest(batch_groups(found))] == [("mixed", 1000), ("uniform", 1000)]
    assert [(g.compose, g.batch_size) for g in largest(batch_groups(found), 10)] == [("uniform", 10)]
    untimed = batch_groups(shown(refused("csr/smart", "no entries", 10), refused("csr/smart", "no entries", 100)))
    assert [g.batch_size for g in largest(untimed)] == [100]


def test_a_matrix_is_balanced_if_its_longest_row_is_less_than_a_tenth_above_the_mean() -> None:
    assert (is_balanced(NOS3), is_balanced(WEST), is_balanced(FEW)) == (True, False, False)
    assert is_balanced(replace(NOS3, ave=10.0, stored={"max": 11})) is False
    assert is_balanced(replace(NOS3, stored={})) is None
    assert is_balanced(MatrixFeatures("deleted")) is None


def test_the_matrices_that_the_paper_calls_balanced_are_balanced() -> None:
    recording = read(RECORDED / "h200" / "batched.json.gz")
    known = {each.name: MatrixFeatures.of(each) for each in recording.matrices}
    assert all(is_balanced(known[name]) for name in BALANCED)
    balanced = {name for name in known if is_one_of(name, NAMES) and is_balanced(known[name])}
    assert balanced - set(BALANCED) == {"pivtol (stand-in)", "ck656 (stand-in)", "rbsa480", "bcsstk02"}


def test_the_standard_kernel_of_a_kernel_is_the_loop_of_its_format() -> None:
    loops = [multiplied(name, 1.0) for name in ("cusparse/chain", "cusparse/loop", "ell/chain", "ell/loop")]
    (group,) = batch_groups(shown(multiplied("ell/thread", 50.0), *loops))
    names = {kernel: m.kernel for kernel in PAPER if (m := group.standard(kernel))}
    assert names == {kernel: "ell/loop" if kernel == "ell/thread" else "cusparse/loop" for kernel in PAPER}
    (captured,) = batch_groups(shown(refused("cusparse/loop", "too many"), loops[0]))
    assert (captured.standard("csr/smart"), captured.standard("ell/thread")) == (captured.of("cusparse/chain"), None)


def test_a_batch_has_a_name() -> None:
    def names(*measurements: Measurement) -> list[str]:
        found = shown(*measurements)
        return [name_of(group, found) for group in batch_groups(found)]

    assert names(*copies(), *mixed("west", "d2")) == ["2 matrices mixed (west0989 and dense_2)", "west0989"]
    assert names(*mixed(*sorted(MATRICES))) == ["6 matrices mixed (dense_2, dense_32, nos3 and 3 more)"]
    # As recorded before mixtures had names.
    unnamed = multiplied("csr/smart", 1.0, matrix="nos3", compose="mixed")
    assert names(*mixed("west", "d2", mixture=""), unnamed) == ["2 matrices mixed", "mixed"]


def test_two_mixtures_with_one_first_matrix_are_two_batches() -> None:
    three = mixed("west", "nos3", "d2"), mixed("west", "d2"), mixed("west", "nos3")
    assert len({m.case for of_one in three for m in of_one}) == 9
    found = batch_groups(shown(*(m for of_one in three for m in of_one), *copies()))
    assert [(g.compose, g.members) for g in found] == [
        ("mixed", ("west", "nos3", "d2")),
        ("mixed", ("west", "d2")),
        ("mixed", ("west", "nos3")),
        ("uniform", ()),
    ]
    assert largest(found) == found


def test_bandwidth_counts_what_is_read_and_both_vectors() -> None:
    m = multiplied("ell/thread", 100.0)
    assert bandwidth(m) == pytest.approx(8e6 / 10e-6)
    assert bandwidth(m.with_(moved_bytes=3_000_000)) == pytest.approx(5e6 / 10e-6)
    # Records from before what is read was kept: of ELL it is not known.
    assert bandwidth(multiplied("coo/segmented", 100.0).with_(moved_bytes=None)) == pytest.approx(8e6 / 10e-6)
    for unknown in (refused("ell/thread", "no"), m.with_(vector_bytes=None), m.with_(moved_bytes=None)):
        assert bandwidth(unknown) is None
