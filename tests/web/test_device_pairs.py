"""/devices/compare: what one device gains over another, by value, and what is refused."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.device_pairs import pair
from gpu_engine.records import BandwidthPoint
from gpu_engine.text.units import THIN
from server import devices, import_recordings
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import study_of, timed
from tests.samples.recording import sample
from tests.server.test_recordings import file_of
from tests.web.conftest import CPU, GPU, ON_GPU, PROFILE, Lab, add_job, sample_matrix, words
from web.device_labels import short
from web.plots.device_pair import device_pair_dots
from web.views.device_pairs import TOO_FEW

HTML = {"Accept": "text/html"}


def plain(row: Sequence[str]) -> list[str]:
    return [cell.replace(THIN, " ") for cell in row]


def test_what_the_second_gains_and_what_the_choice_of_the_first_costs_there() -> None:
    found = [
        timed("csr/vector", 8.0, "warm", "m", "A", roofline_s=4.0),
        timed("sellp/t1", 10.0, "warm", "m", "A", roofline_s=4.0),
        timed("csr/vector", 3.0, "warm", "m", "B", roofline_s=1.0),
        timed("sellp/t1", 2.0, "warm", "m", "B", roofline_s=1.0),
        timed("csr/vector", 1.0, "cold", "m", "B", roofline_s=1.0),
        timed("csr/vector", 1.0, "warm", "other", "B", roofline_s=1.0),
    ]
    both = pair(StudyData(found, {"m": MatrixFeatures("mesh", 9, 9, 27)}), "A", "B", "warm")
    (shared,) = both.matrices
    assert (shared.gain, shared.bandwidth, shared.carried) == (4.0, 4.0, 1.5)
    assert [plain(row) for row in both.by_matrix.rows] == [
        ["mesh", "27", "csr/vector", "8.00 s", "sellp/t1", "2.00 s", "4.00 ×", "4.00 ×", "1.50 ×"]
    ]
    # SELL-C-σ gains 5 times where the bandwidth gains 4, CSR 2.67 times: what gains more stands first.
    assert [plain(row)[::2] for row in both.kernels.rows] == [
        ["sellp/t1", "5.00 ×", "5.00 ×", "1.25 ×"],
        ["csr/vector", "2.67 ×", "2.67 ×", "0.67 ×"],
    ]
    assert "0 of 1" in both.sentences[2]
    assert all(len(sentence.split()) <= 25 for sentence in both.sentences)
    assert math.isclose(pair(StudyData(found), "B", "A", "warm").matrices[0].gain, 0.25)


def test_the_dots_have_a_row_per_kernel_with_its_matrices_and_the_bandwidths() -> None:
    found = [
        timed(kernel, seconds * factor, "warm", matrix, device, roofline_s=roofline_s)
        for device, factor, roofline_s in (("A", 1.0, 2.0), ("B", 0.5, 1.0))
        for matrix, seconds in (("m", 8.0), ("n", 6.0))
        for kernel in ("csr/vector", "sellp/t1")
    ]
    features = {each: MatrixFeatures(each, 9, 9, 27) for each in "mn"}
    both = pair(StudyData(found, features), "A", "B", "warm")
    dots = device_pair_dots(both)
    assert dots is not None
    assert {row.name for row in dots.rows[1:]} == {row[0] for row in both.kernels.rows}
    assert [[value.text for value in row.values] for row in dots.rows] == [[f"2.00{THIN}×", f"1.00{THIN}×", "2"]] * 3
    first = dots.rows[0].dots
    assert [dot.is_small for dot in first] == [True, True, False, False]
    assert {dot.at for dot in first} == {first[0].at} != {dots.one}
    assert device_pair_dots(pair(StudyData([], {}), "A", "B", "warm")) is None


def test_devices_that_share_no_matrix_say_so() -> None:
    both = pair(StudyData(study_of("m", "A")), "A", "B", "warm")
    (sentence,) = both.sentences
    assert {"A", "B"} <= set(sentence.split())
    assert (both.kernels.rows, both.by_matrix.rows) == ((), ())


def test_the_page_has_both_devices_and_is_the_other_way_round_by_a_link(client: TestClient, lab: Lab) -> None:
    shown = client.get("/devices/compare?first=cpu&second=cuda:0", headers=HTML)
    assert shown.status_code == 200
    said = words(shown.text)
    assert all(name in said for name in (short(ON_GPU), short(CPU.id), *map(words, shown.context["sentences"])))
    assert {row[0] for row in shown.context["kernels"].rows} == {"csr/scalar", "csr/vector", "coo/segmented"}
    swapped = client.get(shown.context["swap"].href, headers=HTML)
    assert [side.options for side in swapped.context["sides"]] != [side.options for side in shown.context["sides"]]


def test_without_a_choice_the_two_with_most_matrices_in_common_are_compared(client: TestClient, lab: Lab) -> None:
    import_recordings.take(lab.database, file_of(sample()), "node7")
    assert chosen(client, "") == [CPU.id, GPU.id]
    assert chosen(client, "?first=cuda:0") == [GPU.id, CPU.id]
    assert chosen(client, "?second=recorded:node7")[1] == "recorded:node7"


def test_the_device_with_the_slower_memory_comes_first(client: TestClient, lab: Lab) -> None:
    fast = replace(PROFILE, device=GPU.id, name=GPU.name, bandwidth=(BandwidthPoint(10**9, 4e12, 4e12),))
    with lab.database.write() as session:
        devices.store_profile(session, fast)
    assert chosen(client, "") == [CPU.id, GPU.id]
    with lab.database.write() as session:
        devices.store_profile(session, replace(fast, bandwidth=(BandwidthPoint(10**9, 1e9, 1e9),)))
    assert chosen(client, "") == [GPU.id, CPU.id]


def chosen(client: TestClient, query: str) -> list[str]:
    sides = client.get(f"/devices/compare{query}", headers=HTML).context["sides"]
    return [option.value for side in sides for option in side.options if option.chosen]


def test_an_imported_device_stands_beside_one_that_is_here(client: TestClient, lab: Lab) -> None:
    import_recordings.take(lab.database, file_of(sample()), "node7")
    shown = client.get("/devices/compare?first=cuda:0&second=recorded:node7", headers=HTML)
    assert shown.status_code == 200
    assert (shown.context["kernels"].rows, shown.context["matrices"].rows) == ((), ())


@pytest.mark.parametrize("query", ["first=none", "second=none", "cache=hot", "third=cpu"])
def test_what_is_not_there_is_refused(client: TestClient, lab: Lab, query: str) -> None:
    assert client.get(f"/devices/compare?{query}", headers=HTML).status_code == 422


def test_a_service_without_results_says_what_to_do(client: TestClient) -> None:
    shown = client.get("/devices/compare", headers=HTML)
    assert shown.status_code == 200
    assert "Measure a matrix on both" in words(shown.text)
    assert shown.context["sentences"] == (TOO_FEW,)


def test_a_device_alone_is_chosen_and_compared_with_none(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [CPU])
    matrix = add_matrix(sample_matrix(), "alone", "m1")
    add_job(database, "j1", CPU.id, JobState.SUCCEEDED, study_of(matrix))
    assert chosen(client, "") == [CPU.id]
    assert client.get("/devices/compare", headers=HTML).context["sentences"] == (TOO_FEW,)
