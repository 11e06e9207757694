"""The answer for one solve on the page of a matrix: measured, from measured SpMVs, or from the structure."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.advisor.gpus import FITTED
from gpu_engine.findings.solvers.choice import ITERATIONS, ITERATIONS_MAX, SolveQuestion, measured_spmvs_choice
from gpu_engine.findings.solvers.groups import ONLY_CSR
from gpu_engine.findings.solvers.solve_model import ERROR_WORST, ON_H100, ON_H200, SystemSize, copy_rate_of
from gpu_engine.generators import generate
from gpu_engine.matrices.features import features
from gpu_engine.records import BandwidthPoint, DeviceProfile, Measurement
from gpu_engine.solvers import find_method
from gpu_engine.text.units import count, percent, ratio_interval
from server import devices
from server.models import JobState, MatrixRow, MatrixState
from tests.battery import BATTERY
from tests.samples.formats import timed
from tests.samples.solvers import every
from tests.web.conftest import GPU, Lab, add_job, get, words
from web.views.matrix_answer import time_text

WORDS_MAX = 25
VECTOR, SCALAR = "csr/vector", "csr/scalar"
ROOFLINES: dict[str, Any] = {"roofline_s": 4e-6, "gather_probe_s": None}
PLANE = generate("stencil", {"points": 5, "nx": 700, "ny": 700})


@pytest.fixture
def plane(lab: Lab, add_matrix: Callable[..., str]) -> str:
    """A symmetric system of 490,000 rows."""
    return add_matrix(PLANE, "plane", "p1")


def spmvs(
    matrix: str, device: str = GPU.id, scalar_s: float = 12e-6, sliced_s: float = 10e-6, **fields: Any
) -> list[Measurement]:
    times = {"csr/vector": 60e-6, "csr/scalar": scalar_s, "sellp/t1": sliced_s, "cusparse/csr_alg1": 5e-6}
    convert = {"sellp/t1": 1e-3}
    common: dict[str, Any] = {"matrix": matrix, "device": device, "rounds": 15} | ROOFLINES | fields
    return [timed(kernel, s, **common, convert_s=convert.get(kernel, 0.0)) for kernel, s in times.items()]


def answer(client: TestClient, matrix: str, query: str = "") -> Any:
    """The card of the solve; its sentences stand on the page, and the first has at most 25 words."""
    page = get(client, f"/matrices/{matrix}?{query}")
    assert page.status_code == 200
    card = page.context["solve"]
    if card is not None:
        part = words(page.text.partition('id="solve"')[2].partition("</div>")[0])
        assert all(words(sentence) in part for sentence in (card.sentence, *card.under))
        assert len(card.sentence.split()) <= WORDS_MAX
    return card


@pytest.mark.parametrize(("iterations", "kernel"), [(200, "csr/scalar"), (1000, "sellp/t1"), (10**6, "sellp/t1")])
def test_measured_spmvs_answer_by_the_cost_model(
    client: TestClient, lab: Lab, plane: str, iterations: int, kernel: str
) -> None:
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, spmvs(plane))
    card = answer(client, plane, f"device={GPU.id}&iterations={iterations}")
    question = SolveQuestion(find_method("cg"), iterations, SystemSize.of(features(PLANE)), copy_rate_of(FITTED))
    choice = measured_spmvs_choice(spmvs(plane), question, ON_H200.measured)
    assert choice
    assert (card.state.look, card.kernel, choice.kernel) == ("predicted", kernel, kernel)
    assert all(text in words(card.sentence) for text in (count(iterations), "CG", kernel))
    assert words(time_text(choice.total_s)) in words(card.sentence)
    assert all(words(time_text(end)) in words(card.under[0]) for end in (choice.low_s, choice.high_s))
    assert words(percent(choice.spmv_share)) in words(card.under[0])
    pays = choice.pays_from or (choice.later and choice.later[0])
    assert pays
    assert (count(pays) in card.under[0]) == (not choice.is_close)
    assert f"{ON_H200.measured:g}" in card.under[-1]
    assert f"{ON_H200.solves} solves" in card.under[-1]
    assert card.link.href == f"/measure?study=solvers&matrix_ids={plane}"
    assert client.get(card.link.href).status_code == 200


def test_vectors_move_at_the_copy_bandwidth_of_the_device(client: TestClient, lab: Lab, plane: str) -> None:
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, spmvs(plane))
    before = answer(client, plane, f"device={GPU.id}").sentence
    points = (BandwidthPoint(10**6, 2e11, 2e11), BandwidthPoint(10**9, 1e11, 1e11))
    with lab.database.write() as session:
        devices.store_profile(
            session, DeviceProfile(GPU.id, GPU.name, GPU.cache_bytes, points, "2026-11-27T00:00:00+00:00")
        )
    slow = answer(client, plane, f"device={GPU.id}").sentence
    assert slow != before
    question = SolveQuestion(find_method("cg"), 200, SystemSize.of(features(PLANE)), 1e11)
    choice = measured_spmvs_choice(spmvs(plane), question, ON_H200.measured)
    assert choice
    assert words(time_text(choice.total_s)) in words(slow)


def test_a_cold_answer_has_the_solve_of_a_warm_cache(client: TestClient, lab: Lab, plane: str) -> None:
    cold = [timed(m.kernel, 1e-3, "cold", plane, GPU.id, rounds=15) for m in spmvs(plane)]
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, [*cold, *spmvs(plane)])
    warm, other = (answer(client, plane, f"device={GPU.id}&cache={cache}") for cache in ("warm", "cold"))
    assert (warm.kernel, warm.under) == (other.kernel, other.under)
    assert ["warm cache" in card.sentence for card in (warm, other)] == [False, True]


@pytest.mark.parametrize(("sliced_s", "is_close"), [(23e-6, True), (10e-6, False)])
def test_a_speedup_within_the_error_of_the_model_is_too_close_to_tell(
    client: TestClient, lab: Lab, plane: str, sliced_s: float, is_close: bool
) -> None:
    measured = spmvs(plane, sliced_s=sliced_s, scalar_s=25e-6)
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, measured)
    card = answer(client, plane, f"device={GPU.id}&iterations=1000")
    question = SolveQuestion(find_method("cg"), 1000, SystemSize.of(features(PLANE)), copy_rate_of(FITTED))
    choice = measured_spmvs_choice(measured, question, ON_H200.measured)
    assert choice
    assert choice.speedups
    assert choice.speedup
    assert choice.pays_from
    low, high = choice.speedups
    assert (low, high) == pytest.approx((choice.speedup / ON_H200.measured, choice.speedup * ON_H200.measured))
    assert (low <= 1 < high, choice.is_close) == (is_close, is_close)
    assert ("too close" in card.sentence, "speedup" in card.sentence) == (is_close, not is_close)
    assert ratio_interval((low, high), beside_verdict=True) in card.under[0]
    assert (f"from {count(choice.pays_from)} " in card.under[0]) == (not is_close)


@pytest.mark.parametrize("is_only", [True, False])
def test_a_measured_solve_names_the_only_csr_kernel(client: TestClient, lab: Lab, plane: str, is_only: bool) -> None:
    solves = every(plane, GPU.id, rounds=15)
    others = [replace(m, kernel=SCALAR, case=m.case.replace(VECTOR, SCALAR)) for m in solves if m.kernel == VECTOR]
    add_job(lab.database, "j41", GPU.id, JobState.SUCCEEDED, solves if is_only else solves + others, study="solvers")
    card = answer(client, plane, f"device={GPU.id}&iterations=420")
    assert (ONLY_CSR in card.sentence, "speedup" in card.sentence) == (is_only, True)


@pytest.mark.parametrize(("noise", "under"), [(0.3, ON_H200.predicted), (0.001, ON_H200.measured)])
def test_noisy_spmvs_give_way_to_predicted_ones(
    client: TestClient, lab: Lab, plane: str, noise: float, under: float
) -> None:
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, spmvs(plane, aa_gap=noise))
    assert f"{under:g}" in answer(client, plane, f"device={GPU.id}").under[-1]


@pytest.mark.parametrize(("device", "factor"), [("H100-SXM", ON_H100.predicted), ("V100", ERROR_WORST)])
def test_without_measurements_the_structure_answers(
    client: TestClient, lab: Lab, plane: str, device: str, factor: float
) -> None:
    card = answer(client, plane, f"device={device}")
    assert card.state.look == "predicted"
    assert f"{factor:g}" in card.under[-1]
    assert answer(client, plane, "device=cpu") is None, "a CPU has no cost model"


@pytest.mark.parametrize("device", [GPU.id, "cpu"])
def test_measured_solves_win(client: TestClient, lab: Lab, plane: str, device: str) -> None:
    add_job(lab.database, "j40", device, JobState.SUCCEEDED, spmvs(plane, device, scalar_s=6e-6))
    solves = every(plane, device, rounds=15)
    add_job(lab.database, "j41", device, JobState.SUCCEEDED, solves, study="solvers")
    card = answer(client, plane, f"device={device}&iterations=420")
    assert (card.state.look, card.kernel) == ("measured", "sellp/t1")
    assert words(time_text(1.2e-3 + 420 * 24e-6)) in words(card.sentence)
    assert "420" in card.when
    assert client.get(card.link.href).status_code == 200
    rivals = [sentence for sentence in card.under if "csr/scalar" in sentence]
    assert len(rivals) == (device == GPU.id), "csr/scalar is predicted to be faster, and has no measured solve"


def test_a_kernel_with_a_measured_solve_is_no_rival(client: TestClient, lab: Lab, plane: str) -> None:
    fast = [m for m in spmvs(plane, sliced_s=1e-7, roofline_s=None) if m.kernel != "csr/scalar"]
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, fast)
    add_job(lab.database, "j41", GPU.id, JobState.SUCCEEDED, every(plane, GPU.id, rounds=15), study="solvers")
    card = answer(client, plane, f"device={GPU.id}&iterations=420")
    assert (card.kernel, len(card.under)) == ("sellp/t1", 1)


def test_solves_on_another_device_of_the_same_model_count(client: TestClient, lab: Lab, plane: str) -> None:
    add_job(lab.database, "j41", GPU.id, JobState.SUCCEEDED, every(plane, GPU.id, rounds=15), study="solvers")
    assert answer(client, plane, "device=H200").state.look == "measured"
    assert answer(client, plane, "device=H100-SXM").state.look == "predicted"


def test_an_unsymmetric_matrix_is_solved_by_bicgstab(
    client: TestClient, lab: Lab, add_matrix: Callable[..., str]
) -> None:
    band = add_matrix(BATTERY["band"](), "band", "b1")
    assert "BiCGSTAB" in answer(client, band, "device=H200").sentence


@pytest.mark.parametrize("state", [None, MatrixState.INGESTING, MatrixState.FAILED])
def test_only_square_matrices_have_a_solve(client: TestClient, lab: Lab, state: str | None) -> None:
    page = get(client, f"/matrices/{state or lab.matrix}")
    assert (page.context["has_system"], page.context["solve"]) == (False, None)
    assert 'id="solve"' not in page.text
    assert 'id="iterations"' not in page.text


def test_a_square_matrix_without_nonzeros_or_with_unknown_features_has_none(
    client: TestClient, lab: Lab, plane: str
) -> None:
    for changes in ({"nnz": 0}, {"symmetric": None}):
        with lab.database.write() as session:
            row = session.get(MatrixRow, plane)
            assert row
            before, row.features = row.features, row.features | changes
        assert not get(client, f"/matrices/{plane}?device=V100").context["has_system"]
        with lab.database.write() as session:
            session.get_one(MatrixRow, plane).features = before


@pytest.mark.parametrize(
    ("text", "iterations", "is_said"),
    [("", ITERATIONS, False), ("1e6", ITERATIONS_MAX, False), ("1000001", ITERATIONS_MAX, True), ("0", 1, True)],
)
def test_an_odd_number_of_iterations_is_answered_for_the_nearest_one(
    client: TestClient, lab: Lab, plane: str, text: str, iterations: int, is_said: bool
) -> None:
    page = get(client, f"/matrices/{plane}?device=V100&iterations={text}")
    assert page.context["iterations"] == iterations
    assert bool(page.context["n_note"]) == is_said
    (field,) = re.findall(r'<input id="iterations"[^>]*>', page.text)
    assert f'value="{iterations}"' in field
    assert count(iterations) in answer(client, plane, f"device=V100&iterations={text}").sentence


def test_links_and_the_button_keep_the_iterations(client: TestClient, lab: Lab, plane: str) -> None:
    page = get(client, f"/matrices/{plane}?n=7&iterations=300")
    assert all("n=7&iterations=300" in link.href for link in page.context["devices"])
    (action,) = re.findall(rf'action="(/matrices/{plane}/measure[^"]*)"', page.text)
    reply = client.post(action.replace("&amp;", "&"), data={"device": "cpu"}, follow_redirects=False)
    assert reply.headers["location"] == f"/matrices/{plane}?n=7&iterations=300&device=cpu"
    assert "iterations" not in get(client, f"/matrices/{plane}").context["devices"][0].href


@pytest.mark.parametrize("iterations", [0, 1000])
def test_a_report_says_the_time_of_a_solve_of_as_many_iterations_as_its_address(
    client: TestClient, lab: Lab, plane: str, iterations: int
) -> None:
    add_job(lab.database, "j40", GPU.id, JobState.SUCCEEDED, spmvs(plane))
    asked = f"device={GPU.id}" + (f"&iterations={iterations}" if iterations else "")
    card = answer(client, plane, asked)
    text = words(client.get(f"/formats.html?matrix={plane}&n=500&{asked}").text)
    assert [words(sentence) in text for sentence in (card.sentence, *card.under)] == [bool(iterations)] * (
        1 + len(card.under)
    )
