"""The form of a job: fields of every study, filled in like an earlier job, sent with and without scripts."""

import html
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from gpu_engine.generators import GENERATORS
from gpu_engine.records import MatrixInfo
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study
from gpu_engine.text import units
from server.catalogue import get_matrix
from server.jobs.queue import get_job
from server.models import DeviceRow, JobState
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import study_of, timed
from tests.web.conftest import GPU, Lab, add_job, get, sample_matrix, words
from web import pages
from web.components import Field
from web.form_actions import measure as posted
from web.forms import StudyForm, form_fields
from web.setting_labels import LABELS, VALUES
from web.share import OWN_KERNEL
from web.views.measure import info_of
from web.views.measure_estimate import CHOOSE

HTML = {"Accept": "text/html"}


def study_form(context: Any, name: str = "") -> StudyForm:
    """The part of a study, or that of the chosen one."""
    found: StudyForm
    (found,) = (study for study in context["form"].studies if (study.name == name if name else study.chosen))
    return found


def fields_of(context: Any, name: str = "") -> dict[str, Field]:
    form = study_form(context, name)
    return {field.name: field for field in (*form.main, *form.settings)}


def ticked(field: Field) -> list[str]:
    return [choice.value for group in field.groups for choice in group.choices if choice.chosen]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_parameter_of_a_study_has_a_field_with_its_default_and_meaning(study: Study) -> None:
    default = study.Params()
    for field in form_fields(study.Params, None, {"cpu": study.names("cpu")}):
        value = getattr(default, field.name)
        assert field.help, field.name
        assert field.name in LABELS
        assert field.label == LABELS[field.name]
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


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
def test_every_parameter_of_a_generator_has_a_label(generator: Any) -> None:
    assert {field.name for field in form_fields(generator.Params)} <= {*LABELS}


def test_labels_are_of_parameters_and_differ_within_a_form() -> None:
    every: tuple[Any, ...] = (*STUDIES, *GENERATORS)
    forms = [form_fields(each.Params) for each in every]
    assert {*LABELS} == {field.name for fields in forms for field in fields}
    for fields in forms:
        assert len({field.label for field in fields}) == len(fields)
    listed = [(f, c) for fields in forms for f in fields for g in f.groups for c in g.choices]
    options = {
        (f.name, c.value) for f, c in (*listed, *((f, c) for fields in forms for f in fields for c in f.choices))
    }
    assert {*VALUES} <= options


def test_the_form_says_what_the_job_would_be(client: TestClient, lab: Lab, add_matrix: AddMatrix) -> None:
    add_matrix(sample_matrix(), "a last one", "m9")
    page = get(client, "/measure?matrix_ids=m1")
    form = page.context["form"]
    assert [(device.value, device.backend, device.chosen) for device in form.devices] == [
        ("cuda:0", "cuda", True),
        ("cpu", "cpu", False),
    ]
    # Those with values: the chosen ones first, then by name.
    assert [(choice.value, choice.chosen) for choice in form.matrices] == [
        ("m1", True),
        (lab.hostile, False),
        ("m9", False),
    ]
    assert page.text.count('name="matrix_ids" id="with-') == 3
    assert [study.name for study in form.studies] == [study.name for study in STUDIES]
    # Jobs that are over took a minute: what the study expects, some 10 s by its kernels, is corrected by them.
    seconds = re.search(r"about (\d+)\u202fs\.$", form.estimate.sentence)
    assert seconds
    assert 20 <= int(seconds[1]) <= 60
    facts = dict(form.estimate.facts)
    assert facts["cases"] == units.count(len(list(STUDIES[0].cases(STUDIES[0].Params(), [info_of_m1(lab)], GPU))))
    assert facts["queue"] == "empty"
    assert dict(get(client, "/measure?matrix_ids=m1&device=cpu").context["form"].estimate.facts)["queue"][0] == "2"
    assert not any(study.changed for study in form.studies)


def info_of_m1(lab: Lab) -> MatrixInfo:
    with lab.database.read() as session:
        return info_of(get_matrix(session, "m1"))


def test_a_form_without_matrices_or_devices_says_what_to_do(client: TestClient, lab: Lab) -> None:
    estimate = get(client, "/measure").context["form"].estimate
    assert (estimate.sentence, estimate.facts) == (CHOOSE, ())
    with lab.database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=0.0))
    page = get(client, "/measure?matrix_ids=m1")
    assert page.context["form"].devices == ()
    assert "<form" not in page.text.partition("<main")[2].partition("</main>")[0]


def test_custom_kernels_stand_below_the_kernels(client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "known_custom_kernels", lambda settings: ("spmv.py:VECTOR",))
    page = get(client, "/measure")
    assert [field.name for field in study_form(page.context).main] == ["kernels", "custom_kernels", "caches"]
    assert page.text.index("spmv.py:VECTOR") < page.text.index('id="settings-formats"')
    monkeypatch.setattr(pages, "known_custom_kernels", lambda settings: ())
    assert "custom_kernels" not in fields_of(get(client, "/measure").context)


def test_every_state_of_the_form_leads_to_the_document_on_custom_kernels(client: TestClient, lab: Lab) -> None:
    assert OWN_KERNEL.href in get(client, "/measure").text.partition("<main")[2]
    with lab.database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=0.0))
    page = get(client, "/measure")
    assert page.context["form"].devices == ()
    assert OWN_KERNEL.href in page.text.partition("<main")[2]


def test_presets_are_kernels_of_the_form(client: TestClient, lab: Lab) -> None:
    form = study_form(get(client, "/measure?matrix_ids=m1").context)
    offered = {choice.value for field in form.main for group in field.groups for choice in group.choices}
    assert form.presets[0].kernels == ()
    assert len(form.presets) == 3
    for preset in form.presets[1:]:
        assert preset.kernels
        assert {*preset.kernels} <= offered


def test_what_a_study_cannot_measure_is_said_before_it_is_tried(
    client: TestClient, lab: Lab, add_matrix: AddMatrix
) -> None:
    add_matrix(BATTERY["one_row"](), "films", "m9")
    estimate = get(client, "/measure?matrix_ids=m9&study=pagerank").context["form"].estimate
    assert (len(estimate.notes), estimate.facts) == (1, ())
    assert estimate.notes[0].startswith("films: ")
    add_matrix(BATTERY["identity"](), "graph", "m8")
    both = get(client, "/measure?matrix_ids=m9&matrix_ids=m8&study=pagerank").context["form"].estimate
    assert (both.notes, bool(both.facts)) == (estimate.notes, True)
    assert get(client, "/measure?matrix_ids=m9").context["form"].estimate.notes == ()
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
    assert (context["again"].href, context["title"]) == (f"/jobs/{job['id']}", "Measure again")
    # The kernels are not among the folded settings.
    assert study_form(context).changed == 3
    assert {choice.value for choice in context["form"].matrices if choice.chosen} == {lab.matrix, lab.hostile}
    assert [device.value for device in context["form"].devices if device.chosen] == ["cpu"]
    known = fields_of(context)
    assert study_form(context).name == "batched"
    assert set(ticked(known["kernels"])) == {"csr/scalar"}
    assert (known["batches"].value, ticked(known["compose"]), known["rounds"].value) == ("7, 30", ["mixed"], "11")
    for name, value in {"kernels": "csr/scalar", "batches": "7, 30", "compose": "mixed", "rounds": "11"}.items():
        assert f"{LABELS[name]}: {value}" in context["form"].estimate.under
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
        "ingesting.mtx is still being read.",
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
    (line,) = get(client, "/formats?job=j20").context["findings"]
    assert [row.word for row in line.finding.rows] == ["baseline", "inconclusive"]
    assert line.again.href == "/measure?again=j20&matrix_ids=m1&rounds=30"
    assert fields_of(get(client, line.again.href).context)["rounds"].value == "30"
    assert {line.again for line in get(client, "/formats?job=j21").context["findings"]} == {None}


def test_what_had_many_rounds_has_twice_as_many(client: TestClient, lab: Lab) -> None:
    near = [timed("csr/vector", 8e-4, aa_gap=0.1), timed("csr/scalar", 8.3e-4, aa_gap=0.1)]
    for job, (rounds, again) in {"j20": (60, 120), "j21": (150, 199), "j22": (199, None)}.items():
        add_job(lab.database, job, "cpu", JobState.SUCCEEDED, near, params={"rounds": rounds})
        (line,) = get(client, f"/formats?job={job}").context["findings"]
        assert (line.again and line.again.text) == (again and f"Measure again with {again} rounds")
