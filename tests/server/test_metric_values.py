"""MetricValues: sums by label, and quantiles of histograms, as /metrics prints them."""

import math

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from server.metric_values import Histogram, MetricValues, combined, histograms


def test_sums_are_over_all_series_with_the_labels() -> None:
    values = MetricValues({
        "jobs": {
            frozenset({("state", "failed"), ("study", "a")}): 1.0,
            frozenset({("state", "failed"), ("study", "b")}): 2.0,
            frozenset({("state", "queued"), ("study", "a")}): 4.0,
        }
    })  # fmt: skip
    assert values.total("jobs", state="failed") == 3
    assert (values.total("jobs"), values.total("none")) == (7, 0)
    assert values.by("jobs", "study") == {"a": 5, "b": 2}


@pytest.mark.parametrize(("share", "bound"), [(0.0, 0.1), (0.5, 0.1), (0.51, 1.0), (0.95, math.inf)])
def test_a_quantile_is_the_bound_of_its_bucket(share: float, bound: float) -> None:
    assert Histogram((0.1, 1.0, math.inf), (5, 4, 1)).quantile_s(share) == bound


def test_without_observations_there_is_no_quantile() -> None:
    assert Histogram((0.1, math.inf), (0, 0)).quantile_s(0.5) is None
    assert combined([]).quantile_s(0.5) is None


def test_histograms_of_a_server_count_each_response_once(app: FastAPI, client: TestClient) -> None:
    for _ in range(3):
        client.get("/healthz")
    values = app.state.metrics.values()
    of_route = histograms(values, "sparsight_request_seconds", "route")["/healthz"]
    assert of_route.total == 3 == values.total("sparsight_requests_total", route="/healthz")
    assert combined([of_route, of_route]).total == 6


def test_values_are_those_of_the_text(app: FastAPI, client: TestClient) -> None:
    values = app.state.metrics.values()
    families = list(text_string_to_metric_families(client.get("/metrics").text))
    for name in ("sparsight_event_streams_max", "sparsight_measurements"):
        (sample,) = next(family.samples for family in families if family.name == name)
        assert values.total(name) == sample.value
