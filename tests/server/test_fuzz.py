"""Requests made up from the OpenAPI description: none makes a server error, and every answer is of a described form.

`FUZZ_EXAMPLES=80 pytest --log-cli-level=INFO` makes some thousands and counts them; the default is a taste.
"""

import logging
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks
from sqlalchemy import select

from gpu_engine.records import DeviceInfo
from server import devices, import_recordings
from server.db import Database
from server.jobs.queue import JobRequest, submit
from server.matrix_sets import save
from server.models import JobRow, MatrixRow, MatrixState
from server.roles import Role, every_route, role_of
from server.settings import Settings
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix
from tests.samples.recording import sample
from tests.server.conftest import MakeToken
from tests.server.test_recordings import file_of

log = logging.getLogger(__name__)

Case = schemathesis.Case[Any]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))
ENDLESS = ("stream_events",)
"""A stream of events has no end to wait for; test_events.py follows it."""

OWN = ("annotate_job", "cancel_job", "stop_job")
"""The job that is there is another's, which only an admin may end or describe."""

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


def contents(database: Database) -> tuple[set[str], dict[str, str]]:
    """The ids of the matrices, but for those that come with the product; the states of the jobs by id."""
    with database.read() as session:
        matrices = set(session.scalars(select(MatrixRow.id).where(MatrixRow.state != MatrixState.RECORDED)))
        return matrices, {job.id: job.state for job in session.scalars(select(JobRow))}


def is_kept(before: tuple[set[str], dict[str, str]], after: tuple[set[str], dict[str, str]], role: Role | None) -> bool:
    """Whether what the role may not change is as it was; a submitter may have added to it."""
    if role is Role.SUBMIT:
        return before[0] <= after[0] and before[1].items() <= after[1].items()
    return role is not Role.READ or before == after


@pytest.fixture(params=[None, *Role], ids=lambda role: role or "without tokens")
def role(request: pytest.FixtureRequest) -> Role | None:
    """Whose token is sent; None: the service asks for none."""
    found: Role | None = request.param
    return found


@pytest.fixture
def client(app: FastAPI, role: Role | None, make_token: MakeToken) -> Iterator[TestClient]:
    """A client of the running application with a token of that role."""
    headers = {"authorization": f"Bearer {make_token(role)}"} if role else {}
    with TestClient(app, base_url=ADDRESS, headers=headers) as client:
        yield client


@pytest.mark.timeout(3000)
def test_no_request_makes_a_server_error_and_none_does_what_its_role_may_not(
    app: FastAPI, client: TestClient, role: Role | None, settings: Settings, database: Database, add_matrix: AddMatrix
) -> None:
    load_all_checks()
    devices.register(database, [CPU])
    matrix_id = add_matrix(BATTERY["identity"]())
    job, _ = submit(database, settings, JobRequest("formats", (matrix_id,)))
    forbidden = {
        route.name for route in every_route(app.routes) if role and not role.covers(role_of(route) or Role.READ)
    }
    # Half of the requests name something that exists.
    known = {"job_id": job.id, "matrix_id": matrix_id, "name": "formats", "storage": "split", "variant": "tile"}
    known["set_id"] = save(database, [matrix_id])[0].id
    import_recordings.take(database, file_of(sample()), "node7")
    known |= {"device": "node7", "study": "formats", "device_id": "cpu"}
    answered: Counter[int] = Counter()
    before = contents(database)

    def check(operation: Any, name: str, mode: GenerationMode) -> None:
        @limits(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
        def run(case: Case, real: bool) -> None:
            if real:
                case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
            response = send(client, case)
            answered[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)
            refused = response.status_code == 403 and response.json()["code"] == "forbidden"
            if name in forbidden:
                # A body that cannot be read is refused before its sender is looked at.
                assert refused or response.status_code in (400, 422), name
            elif name not in OWN:
                assert not refused, name

        run()

    schema: Any = schemathesis.openapi.from_dict(app.openapi())
    for operation in [found.ok() for found in schema.get_all_operations()]:
        name = operation.definition.raw["operationId"]
        if name not in ENDLESS:
            check(operation, name, GenerationMode.POSITIVE)
            with suppress(Unsatisfiable):  # A call that takes any text cannot be called wrongly.
                check(operation, name, GenerationMode.NEGATIVE)
    log.info("%s: %d requests: %s", role, answered.total(), dict(sorted(answered.items())))
    assert is_kept(before, contents(database), role)
    assert {status for status in answered if status >= 500} <= {503}
