"""The form of a job: fields of every study, filled in like an earlier job, sent with and without scripts."""

import html
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study
from server.jobs.queue import get_job
from server.models import JobState
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import study_of, timed
from tests.web.conftest import CPU, GPU, Lab, add_job, get, sample_matrix, words
from web.components import Field
from web.form_actions import measure as posted
from web.forms import StudyForm, form_fields

HTML = {"Accept": "text/html"}


def study_form(context: Any, name: str = "") -> StudyForm:
    """The part of a study, or that of the chosen one."""
    found: StudyForm
    (found,) = (study for study in context["form"].studies if (study.name == name if name else study.chosen))
    return found


def fields_of(context: Any, name: str = "") -> dict[str, Field]:
    return {field.name: field for field in study_form(context, name).fields}


def ticked(field: Field) -> list[str]:
    return [choice.value for group in field.groups for choice in group.choices if choice.chosen]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_parameter_of_a_study_has_a_field_with_its_default_and_meaning(study: Study) -> None:
    default = study.Params()
    for field in form_fields(study.Params, None, {"cpu": study.names("cpu")}):
        value = getattr(default, field.name)
        assert field.help, field.name
        if isinstance(value, tuple):
            assert field.kind in ("choices", "numbers", "texts"), field.name
            shown = ticked(field) if field.kind == "choices" else field.value.split(", ") if field.value else []
            assert shown == [str(each) for each in value]
        elif field.kind == "choice":
            assert [choice.value for choice in field.choices if choice.chosen] == [str(value)]
        else:
            assert field.value == str(value)


def test_kernels_are_those_of_each_backend_and_names_of_all_are_one_list() -> None:
    study = STUDIES[0]
    names = {backend: study.names(backend) for backend in ("cpu", "cuda")}
    known = {field.name: field for field in form_fields(study.Params, None, names)}
    assert [group.backend for group in known["kernels"].groups] == ["cpu", "cuda"]
    assert "cusparse/best" in [choice.value for choice in known["kernels"].groups[1].choices]
    assert [group.backend for group in known["caches"].groups] == [""]
    assert (known["rounds"].least, known["rounds"].most, known["rounds"].step) == ("9", "199", "1")
    assert known["rounds"].help.endswith(" From 9 to 199.")


def test_the_page_of_a_matrix_has_the_form_of_it(client: TestClient, lab: Lab, add_matrix: AddMatrix) -> None:
    add_matrix(sample_matrix(), "a last one", "m9")
    page = get(client, "/matrices/m1")
    form = page.context["form"]
    assert [(device.value, device.text, device.backend) for device in form.devices] == [
        ("cuda:0", f"cuda:0 · {GPU.name}", "cuda"),
        ("cpu", f"cpu · {CPU.name}", "cpu"),
    ]
    # Those with values, by name, and not the matrix itself.
    assert [(choice.value, choice.chosen) for choice in form.matrices] == [(lab.hostile, False), ("m9", False)]
    assert page.text.count('name="matrix_ids" id="with-') == 2
    assert [study.name for study in form.studies] == [study.name for study in STUDIES]
    # Jobs that are over took a minute: what the study expects, some 10 s by its kernels, is corrected by them.
    outlook = re.fullmatch(
        r"About (\d+)\u202fs on cuda:0, (\d+)\u202fs on cpu, with the default settings\.",
        study_form(page.context).duration,
    )
    assert outlook
    assert all(20 <= int(seconds) <= 60 for seconds in outlook.groups())
    assert "on cpu" not in study_form(page.context, "reduced_spmv").duration
    assert not form.open
    assert get(client, "/matrices/ingesting").context["form"] is None


def test_what_a_study_cannot_measure_is_said_before_it_is_tried(
    client: TestClient, lab: Lab, add_matrix: AddMatrix
) -> None:
    add_matrix(BATTERY["one_row"](), "films", "m9")
    context = get(client, "/matrices/m9").context
    assert study_form(context, "pagerank").duration.startswith("None of the selected matrices can be measured: films: ")
    assert study_form(context, "formats").duration.startswith("About")
    refused = client.post("/api/v1/jobs", json={"study": "pagerank", "matrix_ids": ["m9"], "device": "cpu"})
    assert refused.status_code == 422
    assert "films: " in refused.json()["detail"]


def test_again_is_the_form_of_the_job_with_its_settings(client: TestClient, lab: Lab) -> None:
    body = {
        "study": "batched",
        "matrix_ids": [lab.matrix, lab.hostile],
        "device": "cpu",
        "params": {"kernels": ["csr/scalar"], "batches": [7, 30], "compose": ["mixed"], "rounds": 11},
    }
    job = client.post("/api/v1/jobs", json=body).json()
    page = get(client, f"/measure?again={job['id']}")
    context = page.context
    assert (context["again"].href, context["title"], context["form"].open) == (
        f"/jobs/{job['id']}",
        "Measure again",
        True,
    )
    assert {choice.value for choice in context["form"].matrices if choice.chosen} == {lab.matrix, lab.hostile}
    assert [device.value for device in context["form"].devices if device.chosen] == ["cpu"]
    known = fields_of(context)
    assert study_form(context).name == "batched"
    assert set(ticked(known["kernels"])) == {"csr/scalar"}
    assert (known["batches"].value, ticked(known["compose"]), known["rounds"].value) == ("7, 30", ["mixed"], "11")
    assert study_form(context).duration.endswith("with kernels csr/scalar, batches 7, 30, compose mixed, rounds 11.")
    # The settings of other studies are their own.
    assert fields_of(context, "formats")["rounds"].value == "15"
    said = get(client, f"/measure?again={job['id']}&rounds=30&matrix_ids={lab.matrix}").context
    assert fields_of(said)["rounds"].value == "30"
    assert fields_of(said)["batches"].value == "7, 30"
    assert [choice.value for choice in said["form"].matrices if choice.chosen] == [lab.matrix]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("again=none", 404, "job 'none'"),
        ("study=none", 422, "study 'none'"),
        ("rounds=2", 422, "rounds is"),
        ("colour=red", 422, "'colour'"),
    ],
)
def test_what_the_form_cannot_be_filled_with_is_an_error(
    client: TestClient, lab: Lab, query: str, status: int, said: str
) -> None:
    answer = get(client, f"/measure?{query}")
    assert answer.status_code == status
    assert said in html.unescape(words(answer.text))


def test_matrices_that_cannot_be_measured_are_named(client: TestClient, lab: Lab) -> None:
    context = get(client, "/measure?matrix_ids=gone&matrix_ids=ingesting&matrix_ids=m1").context
    assert context["notes"] == (
        "Matrix gone was deleted.",
        "ingesting.mtx has no values on this server (ingesting). See its page for what to do.",
    )
    assert [choice.value for choice in context["form"].matrices if choice.chosen] == ["m1"]


def test_a_form_with_the_fields_of_all_studies_queues_the_chosen_one(client: TestClient, lab: Lab) -> None:
    form = {"study": "batched", "device": "cpu", "matrix_ids": [lab.matrix, lab.hostile], "formats.rounds": "20"}
    form |= {"batched.batches": "7, 30", "batched.compose": ["uniform", "mixed"], "batched.kernels": "csr/scalar"}
    answer = client.post("/jobs", data=form, headers=HTML, follow_redirects=False)
    assert answer.status_code == 303, posted.__doc__
    with lab.database.read() as session:
        params = get_job(session, answer.headers["location"].rpartition("/")[2]).params
        assert (params["batches"], params["compose"], params["kernels"]) == (
            [7, 30],
            ["uniform", "mixed"],
            ["csr/scalar"],
        )
        assert params["rounds"] == 9


def test_what_is_ambiguous_is_measured_again_with_more_rounds(client: TestClient, lab: Lab) -> None:
    near = [timed("csr/vector", 8e-4, aa_gap=0.1), timed("csr/scalar", 8.3e-4, aa_gap=0.1)]
    add_job(lab.database, "j20", "cpu", JobState.SUCCEEDED, near)
    add_job(lab.database, "j21", "cpu", JobState.SUCCEEDED, study_of("m1"))
    for page in (get(client, "/jobs/j20"), get(client, "/formats?job=j20")):
        (line,) = page.context["findings"]
        assert [row.word for row in line.finding.rows] == ["baseline", "inconclusive"]
        assert (line.again.text, line.again.href) == (
            "Measure again with 30 rounds",
            "/measure?again=j20&matrix_ids=m1&rounds=30",
        )
        assert "Measure again with 30 rounds" in words(page.text)
    assert fields_of(get(client, line.again.href).context)["rounds"].value == "30"
    assert {line.again for line in get(client, "/jobs/j21").context["findings"]} == {None}


def test_what_had_many_rounds_has_twice_as_many(client: TestClient, lab: Lab) -> None:
    near = [timed("csr/vector", 8e-4, aa_gap=0.1), timed("csr/scalar", 8.3e-4, aa_gap=0.1)]
    for job, (rounds, again) in {"j20": (60, 120), "j21": (150, 199), "j22": (199, None)}.items():
        add_job(lab.database, job, "cpu", JobState.SUCCEEDED, near, params={"rounds": rounds})
        (line,) = get(client, f"/jobs/{job}").context["findings"]
        assert (line.again and line.again.text) == (again and f"Measure again with {again} rounds")
