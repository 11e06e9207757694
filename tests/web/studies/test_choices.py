"""What can be chosen on the page of every study: devices, matrices, switches and forms."""

from collections import Counter

from fastapi.testclient import TestClient

from server.db import Database
from tests.web.conftest import ON_GPU, Lab, add_study, get
from tests.web.studies.reader import Reader, every_page, query_of
from web.device_labels import THIS_CPU, short
from web.studies.base import StudyPage
from web.views.chips import ALL


@every_page
def test_it_starts_with_the_device_of_most_studies_and_mixes_none(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}").context
    (choice,) = (switch for switch in context["switches"] if switch.label == "Device")
    assert [(link.text, link.current) for link in choice.links] == [
        (short(ON_GPU), False),
        (THIS_CPU, True),
        (ALL, False),
    ]
    assert {line.finding.device for line in context["findings"]} == {THIS_CPU}
    assert {row.measurement.device for line in context["findings"] for row in line.finding.rows} == {THIS_CPU}
    assert [link.href for link in context["jobs"]] == ["/jobs/j1"]
    assert context["title"] == measured.title


@every_page
def test_all_devices_stand_beside_each_other_with_the_chosen_matrices(client: TestClient, measured: StudyPage) -> None:
    address = f"/{measured.name}?matrix=m1&device=cpu"
    (choice,) = (switch for switch in get(client, address).context["switches"] if switch.label == "Device")
    (every,) = (link for link in choice.links if link.text == ALL)
    there = get(client, every.href).context
    assert {line.finding.device for line in there["findings"]} == {THIS_CPU, ON_GPU}
    assert {line.finding.matrix_id for line in there["findings"]} == {"m1"}
    (choice,) = (switch for switch in there["switches"] if switch.label == "Device")
    assert [link.text for link in choice.links if link.current] == [ALL]


@every_page
def test_a_switch_changes_its_parameter_alone(client: TestClient, measured: StudyPage) -> None:
    address = f"/{measured.name}?job=j1&job=j2&matrix=m1&kernel=none&kernel=csr/vector"
    switches = get(client, address).context["switches"]
    parameters = [*(switch.parameter for switch in measured.switches if not switch.figure), "device"]
    assert len(switches) <= len(parameters)
    for switch in switches:
        for link in (each for each in switch.links if each.text != ALL):
            added, lost = query_of(link.href) - query_of(address), query_of(address) - query_of(link.href)
            if not added:
                assert link.current, "only the default has no value in the address"
                continue
            (parameter,) = {name for name, _ in added}
            own = next((each.values for each in measured.switches if each.label == switch.label), {})
            values = {link.text: tuple(value for _, value in added)} if callable(own) else own
            chosen = {{"cuda:0": short(ON_GPU), "cpu": THIS_CPU}.get(value, value) for _, value in added}
            assert chosen == set(values.get(link.text, (link.text,)))
            assert parameter in parameters
            # The matrices of another device are chosen anew.
            assert set(lost) == ({("matrix", "m1")} if parameter == "device" else set())
            there = next(s for s in get(client, link.href).context["switches"] if s.label == switch.label)
            assert [each.text for each in there.links if each.current] == [link.text]


@every_page
def test_every_form_keeps_the_rest_of_the_address(client: TestClient, measured: StudyPage) -> None:
    address = f"/{measured.name}?job=j2&matrix=m2&device=cuda:0&kernel=csr/vector&kernel=csr/thread%2Bfp64&cache=warm"
    values = {"k": "8", "batch": "10", "devices": "2", "reproducible": "true"}
    for parameter in dict.fromkeys(select.parameter for select in measured.selects):
        address += f"&{parameter}={values.get(parameter, 'csr/vector')}"
    address += "".join(f"&{number.parameter}=7" for number in measured.numbers)
    forms = Reader(get(client, address).text).forms
    assert len(forms) >= 1
    for form in forms:
        own = {name for name, _, hidden in form if not hidden}
        kept = Counter((name, value) for name, value, hidden in form if hidden)
        assert own
        assert kept == Counter({pair: n for pair, n in query_of(address).items() if pair[0] not in own})


@every_page
def test_the_form_offers_the_matrices_and_the_fields_of_the_study(client: TestClient, measured: StudyPage) -> None:
    context = get(client, f"/{measured.name}?matrix=m2").context
    assert {(choice.value, choice.text): choice.chosen for choice in context["matrices"]} == {
        ("m1", "web_graph"): False,
        ("m2", "fem3"): True,
    }
    assert [link.text for link in context["all_matrices"]] == ["all 2"]
    assert get(client, context["all_matrices"][0].href).context["all_matrices"] == ()
    assert {field.id for field in context["selects"]} <= {select.id for select in measured.selects}
    for field in context["selects"]:
        assert sum(option.chosen for option in field.options) <= 1
        for option in field.options[:2]:
            address = f"/{measured.name}?{field.name}={option.value.replace('+', '%2B')}"
            assert get(client, address).status_code == 200


@every_page
def test_all_matrices_are_shown_where_none_is_chosen(
    client: TestClient, database: Database, measured: StudyPage
) -> None:
    add_study(database, measured.name, "j9", ["m1"], "cuda:0")
    context = get(client, f"/{measured.name}").context
    assert (context["matrix_count"], {choice.value for choice in context["matrices"] if choice.chosen}) == (
        "all 2",
        {"m1", "m2"},
    )
    assert get(client, f"/{measured.name}?matrix=m2").context["matrix_count"] == "1 of 2"


@every_page
def test_what_cannot_be_chosen_is_refused(client: TestClient, page: StudyPage) -> None:
    for query, said in (("cache=hot", "cold, warm"), ("colour=red", "parameter 'colour'")):
        for url in (f"/{page.name}", f"/{page.name}.csv", f"/api/v1/figures/{page.figures[0].name}"):
            response = client.get(f"{url}?{query}")
            assert response.status_code == 422
            assert said in response.json()["detail"]


@every_page
def test_studies_do_not_mix(client: TestClient, measured: StudyPage) -> None:
    assert get(client, f"/{measured.name}?job=j0").context["findings"] == ()
    assert get(client, f"/{measured.name}?job=j1").context["findings"] != ()


def test_a_study_without_results_of_what_is_chosen_says_which_study_has_them(client: TestClient, lab: Lab) -> None:
    page = get(client, f"/batched?matrix={lab.matrix}")
    assert page.context["findings"] == ()
    assert [(link.text, link.href) for link in page.context["elsewhere"]] == [
        ("Formats", f"/formats?matrix={lab.matrix}")
    ]
    assert get(client, page.context["elsewhere"][0].href).context["elsewhere"] == ()
