"""Requests made up from the OpenAPI description: none makes a server error, and every answer is of a described form.

`FUZZ_EXAMPLES=80 pytest --log-cli-level=INFO` makes some thousands and counts them; the default is a taste.
"""

import logging
import os
from collections import Counter
from contextlib import suppress
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks

from gpu_engine.records import DeviceInfo
from server import devices
from server.db import Database
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix

log = logging.getLogger(__name__)

Case = schemathesis.Case[Any]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))
ENDLESS = ("stream_events",)
"""A stream of events has no end to wait for; test_events.py follows it."""

CHECKS = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]
CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)


def send(client: TestClient, case: Case) -> httpx.Response:
    """The made-up request, through the application; an error that would be a 500 is raised here."""
    arguments = case.as_transport_kwargs(base_url=ADDRESS)
    request = requests.Request(**{name: value for name, value in arguments.items() if name != "cookies"}).prepare()
    assert request.method
    assert request.url
    answer: httpx.Response = client.request(
        request.method, request.url, headers=dict(request.headers), content=request.body
    )
    return answer


@pytest.mark.timeout(3000)
def test_no_request_makes_a_server_error(
    app: FastAPI, client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    load_all_checks()
    devices.register(database, [CPU])
    body = {"study": "formats", "matrix_ids": [add_matrix(BATTERY["identity"]())]}
    job = client.post("/api/v1/jobs", json=body).json()
    # Half of the requests name something that exists.
    known = {"job_id": job["id"], "matrix_id": job["matrix_ids"][0], "name": "formats"}
    answered: Counter[int] = Counter()

    def check(operation: Any, mode: GenerationMode) -> None:
        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
        def run(case: Case, real: bool) -> None:
            if real:
                case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
            response = send(client, case)
            answered[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

        run()

    schema: Any = schemathesis.openapi.from_dict(app.openapi())
    for operation in [found.ok() for found in schema.get_all_operations()]:
        if operation.definition.raw["operationId"] not in ENDLESS:
            check(operation, GenerationMode.POSITIVE)
            with suppress(Unsatisfiable):  # A call that takes any text cannot be called wrongly.
                check(operation, GenerationMode.NEGATIVE)
    log.info("%d requests: %s", answered.total(), dict(sorted(answered.items())))
    assert {status for status in answered if status >= 500} <= {503}
