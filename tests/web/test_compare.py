"""Two jobs of a study in the browser: which can be compared, and what the page says of them."""

import re
from functools import partial

import pytest
from fastapi.testclient import TestClient

from gpu_engine.text.units import THIN
from server.models import JobState
from tests.samples.formats import HOSTILE, study_of, timed, untimed
from tests.web.conftest import Lab, add_job, add_study, get, words
from web.views.compare import NOT_INTERLEAVED, VIEWS

quick = partial(timed, roofline_s=1e-5, gather_probe_s=1e-5)
"""A time that the bandwidth allows."""


@pytest.fixture
def before_and_after(lab: Lab) -> Lab:
    """j20, then j21 of the same kernels: one faster, one slower, one alike, one failed and one gone."""
    before = [
        quick("csr/scalar", 1e-3),
        quick("csr/vector", 1e-3),
        quick("coo/segmented", 1e-3, environment={"source": "old", "driver": "580"}),
        quick("ell/thread", 1e-3),
        quick("hyb/segmented", 1e-3),
        untimed("csc/atomic", "skipped", "needs 41 GB"),
    ]
    after = [
        quick("csr/scalar", 2e-3, aa_gap=0.004),
        quick("csr/vector", 2.5e-4),
        quick("coo/segmented", 1.03e-3, environment={"source": "new", "driver": "580"}),
        untimed("ell/thread", "failed", "refused"),
        quick("csc/atomic", 1e-3),
    ]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, before, params={"rounds": 15})
    add_job(lab.database, "j21", "cpu", JobState.SUCCEEDED, after, params={"rounds": 40})
    return lab


def test_a_job_offers_the_earlier_ones_with_cases_in_common(client: TestClient, before_and_after: Lab) -> None:
    add_study(before_and_after.database, "pagerank", "j10", ["m1"])
    add_job(before_and_after.database, "j11", "cpu", JobState.SUCCEEDED, study_of("m2"))
    page = get(client, "/jobs/j21")
    texts = {choice.value: choice.text.partition(" · ")[2] for choice in page.context["earlier"]}
    # Not those of another study, device or matrix, and none that came later; j4 has measured cold alone.
    assert texts == {
        "j20": "job j20 · 5 common cases",
        "j1": "job j1 · 4 common cases",
    }
    assert list(texts) == ["j20", "j1"]
    assert 'action="/jobs/j21/compare"' in page.text
    assert get(client, "/jobs/j1").context["earlier"] == ()


def test_the_newer_job_is_judged_case_by_case_the_largest_change_first(
    client: TestClient, before_and_after: Lab
) -> None:
    page = get(client, "/jobs/j21/compare?with=j20")
    assert re.findall(r"\d+", page.context["sentence"]) == ["1", "3", "1", "1"]
    assert re.findall(r"[\d.]+\d|\d", " ".join(page.context["under"])) == ["1.25", "1", "1", "1"]
    assert [(row.name, row.values[0].verdict) for row in page.context["picture"].rows] == [
        ("csr/vector", "faster"),
        ("csr/scalar", "slower"),
        ("coo/segmented", "inconclusive"),
    ]
    own = [(case.kernel, case.word, case.ratio.replace(THIN, " ")) for case in page.context["cases"]]
    assert own == [
        ("ell/thread", "failed", "–"),
        ("hyb/segmented", "missing", "–"),
        ("csr/vector", "faster", "4.00 ×"),
        ("csr/scalar", "slower", "0.50 ×"),
        ("coo/segmented", "inconclusive", "0.97 ×"),
        ("csc/atomic", "untimed", "–"),
    ]
    assert '<span class="word faster">faster</span>' in page.text
    said = words(page.text)
    assert NOT_INTERLEAVED.replace(THIN, " ") in said
    assert "A/A gap: up to 0.1 % before and 0.4 % after" in said
    # Whichever of the two the address begins with, the older one is before.
    assert get(client, "/jobs/j20/compare?with=j21").context["sentence"] == page.context["sentence"]


def test_only_what_differs(client: TestClient, before_and_after: Lab) -> None:
    page = get(client, "/jobs/j21/compare?with=j20").context
    (_, link) = page["show"].links
    there = get(client, link.href).context
    assert [case.kernel for case in there["cases"]] == ["ell/thread", "hyb/segmented", "csr/vector", "csr/scalar"]
    assert [each.text for each in there["show"].links if each.current] == [VIEWS["different"]]
    assert there["sentence"] == page["sentence"]
    assert tuple((name.lower(), *sides) for name, *sides in page["changed"].rows) == (
        ("rounds", "15", "40"),
        ("kernels only in one job", "hyb/segmented", "none"),
        ("source of coo/segmented", "old", "new"),
    )


def test_kernels_that_only_one_job_has_are_one_row(client: TestClient, lab: Lab) -> None:
    both = [quick("csr/vector", 1e-3, environment={"source": "same"})]
    environment = {"source": "new", "custom_kernel": "my.py:build"}
    more = [
        quick(kernel, 1e-3, environment=environment) for kernel in ("custom:my/build", "coo/segmented", "ell/thread")
    ]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, both)
    add_job(lab.database, "j21", "cpu", JobState.SUCCEEDED, both + more, params={"custom_kernels": ["my.py:build"]})
    rows = {name.lower(): sides for name, *sides in get(client, "/jobs/j21/compare?with=j20").context["changed"].rows}
    assert rows == {
        "custom kernels": ["none", "my.py:build"],
        "kernels only in one job": ["none", "custom:my/build, coo/segmented and ell/thread"],
    }
    for job, value in (("j20", "none (default)"), ("j21", "my.py:build")):
        settings = get(client, f"/jobs/{job}").context["settings"].table.rows
        assert {name.lower(): text for name, text, _ in settings}["custom kernels"] == value


def test_names_of_matrices_are_text(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, study_of("m2"))
    page = get(client, "/jobs/j20/compare?with=j1")
    assert {case.matrix.text for case in page.context["cases"]} == {"cnr-2000", HOSTILE}
    assert "<script>alert" not in page.text


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/jobs/j1/compare", 422, "No second job"),
        ("/jobs/j1/compare?with=none", 404, "job 'none'"),
        ("/jobs/j1/compare?with=j10", 422, "different studies: formats and pagerank"),
        ("/jobs/j1/compare?with=j2", 422, "no "),
        ("/jobs/j1/compare?with=j4&show=odd", 422, "show is 'odd'"),
    ],
)
def test_what_cannot_be_compared_says_why(client: TestClient, lab: Lab, address: str, status: int, said: str) -> None:
    add_study(lab.database, "pagerank", "j10", ["m1"])
    answer = client.get(address)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True)


def test_jobs_that_are_not_told_apart_have_no_mean(client: TestClient, lab: Lab) -> None:
    for job, wide in (("j20", 1.0), ("j21", 1.01)):
        add_job(lab.database, job, "cpu", JobState.SUCCEEDED, [timed("csr/vector", wide * 1e-3)])
    page = get(client, "/jobs/j21/compare?with=j20").context
    assert re.findall(r"\d+", page["sentence"]) == ["0", "1", "0", "1"]
    assert page["under"] == ()


def test_on_a_busy_machine_nothing_is_compared(client: TestClient, lab: Lab) -> None:
    for job in ("j20", "j21"):
        add_job(lab.database, job, "cpu", JobState.SUCCEEDED, [timed("csr/vector", 1e-3, aa_gap=0.4)])
    page = get(client, "/jobs/j21/compare?with=j20").context
    assert (re.findall(r"\d+", page["sentence"]), page["picture"], page["under"]) == ([], None, ())
    assert (len(page["notes"]), page["cases"]) == (1, ())
    assert [(case.word, case.ratio, case.busy) for case in page["folded"]] == [("noisy", "–", True)]


def test_noisy_cases_are_not_in_the_counts(client: TestClient, lab: Lab) -> None:
    for job, factor in (("j20", 1.0), ("j21", 0.25)):
        noisy = quick("csr/vector", factor * 1e-3, aa_gap=0.4)
        other = quick("csr/vector", factor * 1e-3, cache="cold")
        add_job(lab.database, job, "cpu", JobState.SUCCEEDED, [noisy, other])
    page = get(client, "/jobs/j21/compare?with=j20").context
    assert re.findall(r"\d+", page["sentence"]) == ["1", "1", "0"]
    assert {case.setting: case.word for case in page["cases"]} == {"cold": "faster", "warm": "noisy"}
    assert [case.setting for case in get(client, "/jobs/j21/compare?with=j20&show=different").context["cases"]] == [
        "cold"
    ]


def test_two_ticked_jobs_lead_to_their_comparison(client: TestClient, before_and_after: Lab) -> None:
    listed = get(client, "/jobs").text
    assert 'action="/jobs/compare"' in listed
    assert listed.count('name="job"') == 7
    answer = client.get("/jobs/compare?job=j21&job=j20", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/j21/compare?with=j20")
    for query in ("", "?job=j1", "?job=j1&job=j1", "?job=j1&job=j2&job=j4"):
        assert client.get(f"/jobs/compare{query}").status_code == 422
        refused = client.get(f"/jobs/compare{query}", headers={"Accept": "text/html"})
        assert [link.href for link in refused.context["choices"]] == ["/jobs"]
