"""No number without its evidence: pages and files of a busy machine, and of rounds that are too few for an interval."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.finding import INTERVAL, RANGE
from gpu_engine.records import Measurement, Trace
from gpu_engine.verdicts.verdict import NOISE_MAX
from server.models import JobState
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import timed
from tests.samples.studies import SAMPLES, records_of
from tests.web.conftest import Lab, add_job, get
from tests.web.test_exports import rows_of
from web.figures import busy
from web.figures.history import BUSY
from web.studies import page_of

GENERAL = re.compile(r"95 % intervals?( of that median)? \(from five rounds on\)")
"""What every page says of all times; it holds of these too."""

CLAIM = re.compile(r"95 \\?% interval")

every_study = pytest.mark.parametrize("study", SAMPLES)


def held_up(m: Measurement) -> Measurement:
    return replace(m, aa_gap=2 * NOISE_MAX) if m.median_s else m


def in_two_rounds(m: Measurement) -> Measurement:
    if not m.median_s:
        return m
    ends: dict[str, Any] = {"min_s": 0.99 * m.median_s, "q1_s": 0.995 * m.median_s, "q3_s": 1.005 * m.median_s}
    return replace(m, rounds=2, max_s=None, **ends)


def add(lab: Lab, job_id: str, study: str, measurements: Sequence[Measurement], traces: Sequence[Trace]) -> None:
    device = measurements[0].device
    add_job(lab.database, job_id, device, JobState.SUCCEEDED, measurements, study=study, traces=traces, params={})


def two_jobs_of_two_rounds(lab: Lab, study: str) -> str:
    """j61 and j62 of the same cases of a matrix that has no others; the device."""
    device = "cpu" if study in ("formats", "pagerank") else "cuda:0"
    found, traces = records_of(study, ["m9"], device)
    for job_id in ("j61", "j62"):
        add(lab, job_id, study, list(map(in_two_rounds, found)), traces)
    return device


def figures_with_a_table(client: TestClient, study: str, job: str) -> list[str]:
    """Names of the figures of a study that have numbers of a job."""
    names = [figure.name for figure in page_of(study).figures]
    opened = {name: get(client, f"/{study}?job={job}&view={name}").context["figures"] for name in names}
    return [name for name, figures in opened.items() if any(figure.table for figure in figures)]


@every_study
def test_nothing_claims_an_interval_of_two_rounds(
    client: TestClient, lab: Lab, add_matrix: AddMatrix, study: str
) -> None:
    add_matrix(BATTERY["band"](), "plain", "m9")
    device = two_jobs_of_two_rounds(lab, study)
    page = get(client, f"/{study}?job=j62")
    names = [f"cases-{line.id}" for line in page.context["findings"]]
    names += [f"{name}-numbers" for name in figures_with_a_table(client, study, "j62")]
    files = [f"/{study}/tables/{name}{ending}?job=j62" for name in names for ending in ("", ".csv", ".md", ".tex")]
    pages = [
        "/jobs/j62",
        "/jobs/j62/compare?with=j61",
        f"/history?study={study}&matrix=m9&device={device}",
        "/matrices/m9",
    ]
    reports = [f"/{study}{ending}?job=j62" for ending in ("", ".csv", ".html")]
    for address in (*reports, *files, *pages, f"/devices/compare?first={device}", "/"):
        answer = client.get(address, headers={"Accept": "text/html"})
        assert answer.status_code == 200, address
        text = GENERAL.sub(
            "", answer.text.partition("<script")[0] if address.startswith(f"/{study}.html") else answer.text
        )
        assert not CLAIM.search(re.sub(r"<footer.*?</footer>", "", text, flags=re.S)), address
    cases = client.get(f"/{study}/tables/{names[0]}.md?job=j62").text
    assert RANGE in cases
    assert "2 rounds, " in cases
    document = client.get(f"/{study}.json?job=j62").json()
    assert {m["ci_low_s"] for m in document["measurements"]} == {None}


def test_the_head_of_intervals_says_what_stands_below_it(client: TestClient, lab: Lab) -> None:
    own = [timed("csr/scalar", 1e-3, rounds=15), in_two_rounds(timed("csr/vector", 1.1e-3))]
    heads = {}
    for job_id, found in (("j63", own), ("j64", own[:1]), ("j65", own[1:])):
        add_job(lab.database, job_id, "cpu", JobState.SUCCEEDED, found)
        (line,) = get(client, f"/formats?job={job_id}").context["findings"]
        heads[job_id] = line.finding.table.heads[5].text
    assert heads == {"j63": f"{INTERVAL} or range", "j64": INTERVAL, "j65": RANGE}


@every_study
def test_every_file_says_that_the_machine_was_busy(client: TestClient, lab: Lab, study: str) -> None:
    device = "cpu" if study in ("formats", "pagerank") else "cuda:0"
    found, traces = records_of(study, ["m1"], device)
    add(lab, "j66", study, list(map(held_up, found)), traces)
    page = get(client, f"/{study}?job=j66")
    assert all(
        line.finding.busy for line in page.context["findings"] if any(r.measurement.median_s for r in line.finding.rows)
    )
    rows = rows_of(client.get(f"/{study}.csv?job=j66").text)
    assert {row["busy"] for row in rows if row["median_s"]} == {"True"}
    assert any(each["busy"] for each in client.get(f"/{study}.json?job=j66").json()["verdicts"])
    numbers = figures_with_a_table(client, study, "j66")
    for name in (f"cases-{page.context['findings'][0].id}", *(f"{name}-numbers" for name in numbers)):
        for ending in ("", ".csv", ".md", ".tex"):
            text = client.get(f"/{study}/tables/{name}{ending}?job=j66", headers={"Accept": "text/html"}).text
            assert "busy" in text or "too noisy" in text.lower(), (name, ending)
    report = client.get(f"/{study}.html?job=j66").text
    assert busy.ENTRY in report
    assert page.context["findings"][0].finding.busy in report


def test_a_figure_is_served_with_what_does_not_count_in_gray(client: TestClient, lab: Lab) -> None:
    quiet = [timed("csr/scalar", 1e-3, rounds=15), timed("csr/vector", 8e-4, rounds=15)]
    add_job(lab.database, "j67", "cpu", JobState.SUCCEEDED, [*quiet, *(held_up(replace_matrix(m)) for m in quiet)])
    drawn = client.get("/api/v1/figures/formats?job=j67").json()
    flags = [trace["meta"].get("busy") for trace in drawn["data"] if trace["type"] == "bar"]
    assert flags == [None, None, [True], [True]]
    assert [trace["name"] for trace in drawn["data"] if trace["meta"]["role"] == "busy"] == [busy.ENTRY]


def replace_matrix(m: Measurement) -> Measurement:
    return timed(m.kernel, m.median_s or 0.0, matrix="m2", rounds=15)


def series(client: TestClient, address: str, role: str = "unsettled") -> list[Any]:
    found = client.get(address).json()["data"]
    return [trace["meta"].get("busy") for trace in found if trace["meta"]["role"] == role]


def test_histories_say_which_job_was_on_a_busy_machine(client: TestClient, lab: Lab) -> None:
    own = [timed("csr/scalar", 2e-3, device="cuda:0"), timed("csr/vector", 1e-3, device="cuda:0")]
    for job_id, found in (("j71", own), ("j72", list(map(held_up, own))), ("j73", own)):
        add_job(lab.database, job_id, "cuda:0", JobState.SUCCEEDED, found, ("m1",))
    # Of one kernel alone all others tell too.
    one = [own[0], replace(own[1], aa_gap=2 * NOISE_MAX)]
    add_job(lab.database, "j74", "cuda:0", JobState.SUCCEEDED, one, ("m1",))
    query = "matrix=m1&device=cuda:0&kernel=csr/scalar"
    (case,) = client.get(f"/api/v1/history?{query}").json()["items"]
    doubtful = {m["job_id"]: m["busy"] for m in case["measurements"]}
    assert {job: doubtful[job] for job in ("j71", "j72", "j73", "j74")} == {
        "j71": False,
        "j72": True,
        "j73": False,
        "j74": True,
    }
    page = get(client, f"/history?{query}")
    counted = {row[1]: row[-2].partition(",")[0] for row in page.context["measurements"].rows}
    assert (counted["j71"], counted["j72"]) == ("yes", "no")
    assert [flags.count(True) for flags in series(client, page.context["chart"].url) if flags] == [2]
    history = get(client, "/matrices/m1").context["history"]
    assert {row[1] for row in history.table.rows if row[-1] == BUSY} == {"j72", "j74"}
    assert any(flags and True in flags for flags in series(client, history.chart.url))


def test_a_comparison_of_jobs_says_what_does_not_count(client: TestClient, lab: Lab) -> None:
    own = [timed("csr/scalar", 2e-3), timed("csr/vector", 1e-3)]
    other = [timed("csr/scalar", 2e-3, "cold"), timed("csr/vector", 1e-3, "cold")]
    add_job(lab.database, "j81", "cpu", JobState.SUCCEEDED, [*own, *other])
    add_job(lab.database, "j82", "cpu", JobState.SUCCEEDED, [*map(held_up, own), *other])
    page = get(client, "/jobs/j82/compare?with=j81")
    assert {(case.setting, case.busy) for case in page.context["cases"]} == {("warm", True), ("cold", False)}
    assert page.text.count('<tr class="busy">') == 2
    assert any("0 cases before and 2 after" in note for note in page.context["notes"])
    assert not any("busy" in note for note in get(client, "/jobs/j81/compare?with=j1").context["notes"])


def test_two_devices_leave_out_what_does_not_count_and_say_so(client: TestClient, lab: Lab) -> None:
    for job_id, device in (("j91", "cpu"), ("j92", "cuda:0")):
        own = [timed(kernel, time, device=device) for kernel, time in (("csr/scalar", 2e-3), ("csr/vector", 1e-3))]
        two = [held_up(timed(m.kernel, m.median_s or 0.0, matrix="m2", device=device)) for m in own]
        add_job(lab.database, job_id, device, JobState.SUCCEEDED, [*own, *two])
    page = client.get("/devices/compare?first=cpu&second=cuda:0", headers={"Accept": "text/html"})
    assert "too noisy: 1." in page.text
