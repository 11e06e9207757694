"""Devices on `/service`: each with the curve of its bandwidth."""

from fastapi.testclient import TestClient

from tests.web.conftest import PROFILE, Lab, get


def test_a_device_whose_bandwidth_is_known_has_its_curve_and_numbers(client: TestClient, lab: Lab) -> None:
    page = get(client, "/service")
    charts = {device.row.id: device.row.chart for device in page.context["devices"]}
    assert charts["cuda:0"] is None
    assert (charts["cpu"].id, charts["cpu"].version) == ("bandwidth-cpu", PROFILE.measured_at)
    drawn = client.get(charts["cpu"].url).json()
    assert [trace["name"] for trace in drawn["data"]][:2] == ["copy", "read"]
    assert drawn["layout"]["meta"]["provenance"] == {
        "title": "Bandwidth by footprint",
        "lines": ["A laptop's processor, measured 2026-11-21"],
    }
    assert page.text.count('id="bandwidth-cpu"') == 1


def test_the_figure_is_of_one_device_that_was_measured(client: TestClient, lab: Lab) -> None:
    assert client.get("/api/v1/figures/bandwidth").status_code == 422
    assert client.get("/api/v1/figures/bandwidth?device=cpu&device=cuda:0").status_code == 422
    for device in ("cuda:0", "none"):
        answer = client.get(f"/api/v1/figures/bandwidth?device={device}")
        assert answer.status_code == 404
        assert "No measured bandwidth" in answer.json()["detail"]
    needs = {figure["name"]: figure["needs"] for figure in client.get("/api/v1/figures").json()["items"]}
    assert (needs["bandwidth"], needs["spy"]) == ("device", "matrix")
