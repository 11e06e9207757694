import pytest

from gpu_engine.findings.pagerank.predicted import predicted_s
from gpu_engine.findings.pagerank.runs import Run
from tests.samples.pagerank import CHANGE_S, PULL_S, SETTLE_S, ran

OWN = ran("csr/thread+cpms4", (1, 46, 61, 5))
RUN = Run(*OWN)


def test_the_iterations_that_were_measured_take_the_time_that_was_measured() -> None:
    assert predicted_s(RUN, [RUN], [1] + 46 * [2] + 61 * [3] + 5 * [4]) == pytest.approx(RUN.measurement.median_s)


def test_other_iterations_take_the_times_of_their_phases() -> None:
    # 10 read 32 bits and 20 read 48, the first of which reads what the one before wrote; one change of precision.
    products = 11 * PULL_S[32] + 19 * PULL_S[48]
    assert predicted_s(RUN, [RUN], 10 * [2] + 20 * [3]) == pytest.approx(
        products + 30 * SETTLE_S + (CHANGE_S + CHANGE_S / 3)
    ), "of three changes one converts too"


def test_phases_timed_apart_are_scaled_as_the_run() -> None:
    twice = Run(ran("csr/thread+cpms4", (1, 46, 61, 5), 2 * (RUN.measurement.median_s or 0.0))[0], OWN[1])
    written = 10 * [2] + 20 * [3]
    assert predicted_s(twice, [twice], written) == pytest.approx(2 * (predicted_s(RUN, [RUN], written) or 0.0))


def test_what_no_run_of_the_kernel_has_done_is_not_known() -> None:
    half = Run(*ran("csr/thread+cpms4", (0, 46, 61, 5)))
    assert predicted_s(half, [half], [1, 2]) is None
    assert predicted_s(half, [half, RUN], [1, 2]) is not None, "but another run of it did"
    other = Run(*ran("ell/thread+cpms4", (1, 46, 61, 5)))
    assert predicted_s(half, [half, other], [1, 2]) is None
