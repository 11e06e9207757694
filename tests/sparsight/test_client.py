"""The client against a server that answers by rule."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest
from scipy import sparse

from gpu_engine.errors import (
    ConflictError,
    InputError,
    MatrixFileError,
    NotFoundError,
    ParameterError,
    SparsightError,
    TooLargeError,
    UnavailableError,
)
from server.documents import Matrix
from sparsight.client import Client

Handler = Callable[[httpx.Request], httpx.Response]


def client_of(handler: Handler) -> Client:
    transport = httpx.MockTransport(handler)
    return Client("http://test/", http=httpx.Client(base_url="http://test", transport=transport))


def answering(status: int, document: Any) -> Client:
    return client_of(lambda _: httpx.Response(status, json=document))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (422, "invalid_matrix_file", MatrixFileError),
        (422, "invalid_parameter", ParameterError),
        (422, "invalid_request", InputError),
        (413, "too_large", TooLargeError),
        (404, "not_found", NotFoundError),
        (409, "conflict", ConflictError),
        (503, "unavailable", UnavailableError),
        (500, "internal", SparsightError),
    ],
)
def test_a_problem_becomes_the_error_it_names(status: int, code: str, kind: type[SparsightError]) -> None:
    client = answering(status, {"status": status, "code": code, "detail": "Line 3: no."})
    with pytest.raises(kind) as caught:
        client.job("1")
    assert type(caught.value) is kind
    assert caught.value.message == "Line 3: no."


def test_no_server_is_said_with_its_address_and_a_way_out() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with pytest.raises(UnavailableError, match=r"http://test .*Connection refused.*sparsight serve.*pass the address"):
        client_of(refuse).studies()


@pytest.mark.parametrize("page", [httpx.Response(200, text="<html>"), httpx.Response(200, html="<html>")])
def test_another_kind_of_server_is_told_apart_at_once(page: httpx.Response, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.connection.time.sleep", lambda _: pytest.fail("there is nothing to wait for"))
    with pytest.raises(UnavailableError, match="is not a Sparsight server"):
        client_of(lambda _: page).studies()


def test_upload_sends_the_file_and_counts_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "a.mtx"
    file.write_bytes(b"x" * 200_000)
    bodies: list[bytes] = []

    def keep(request: httpx.Request) -> httpx.Response:
        bodies.append(request.read())
        return httpx.Response(201, json={"id": "m", "state": "ready"})

    counts: list[int] = []
    assert client_of(keep).upload(file, on_read=counts.append)["id"] == "m"
    assert b'filename="a.mtx"' in bodies[0]
    assert bodies[0].count(b"x" * 200_000) == 1
    assert sum(counts) == 200_000
    assert len(counts) > 1


def test_a_file_that_cannot_be_opened_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"Cannot read 'none\.mtx': No such file"):
        answering(201, {}).upload(Path("none.mtx"))


def test_a_sparse_matrix_is_sent_as_the_file_of_scipy() -> None:
    names: list[bytes] = []
    sent: list[Any] = []

    def keep(request: httpx.Request) -> httpx.Response:
        body = request.read()
        names.extend(re.findall(rb'filename="([^"]+)"', body))
        sent.append(sparse.load_npz(io.BytesIO(body[body.index(b"PK\x03\x04") :])))
        return httpx.Response(201, json={"id": "m"})

    matrix = sparse.random_array((30, 20), density=0.2, rng=np.random.default_rng(1))
    for layout in ("csr", "csc", "coo"):
        client_of(keep).upload(matrix.asformat(layout))
        assert sent[-1].format == layout
        assert (sent[-1] != matrix).nnz == 0
    for other in (matrix.tobsr(), matrix.todia(), matrix.tolil(), matrix.todok()):
        client_of(keep).upload(other)
        assert sent[-1].format == "csr"
        assert (sent[-1] != matrix).nnz == 0
    for tensor in (torch_like(matrix.tocsr()), cupy_like(matrix.tocsr())):
        client_of(keep).upload(tensor)
        assert (sent[-1] != matrix).nnz == 0
    assert names == [b"matrix.npz"] * 9
    with pytest.raises(ParameterError, match=r"ndarray is dense\. .*csr_array"):
        client_of(keep).upload(np.eye(3))


def torch_like(matrix: Any) -> Any:
    """A matrix as PyTorch has it, of which its own attributes are known."""

    def tensor(array: Any) -> Any:
        return SimpleNamespace(detach=lambda: SimpleNamespace(cpu=lambda: SimpleNamespace(numpy=lambda: array)))

    arrays = {"crow_indices": matrix.indptr, "col_indices": matrix.indices, "values": matrix.data}
    calls = {name: lambda array=array: tensor(array) for name, array in arrays.items()}
    return SimpleNamespace(layout="torch.sparse_csr", shape=matrix.shape, **calls)


def cupy_like(matrix: Any) -> Any:
    arrays = {
        name: SimpleNamespace(get=lambda name=name: getattr(matrix, name)) for name in ("indptr", "indices", "data")
    }
    return SimpleNamespace(format="csr", shape=matrix.shape, **arrays)


def test_a_matrix_is_written_to_a_file_or_its_problem_raised(tmp_path: Path) -> None:
    blocks = client_of(lambda request: httpx.Response(200, content=request.url.path.encode()))
    assert blocks.download("m", tmp_path / "a.npz").read_bytes() == b"/api/v1/matrices/m/file"
    with pytest.raises(ConflictError, match="no values"):
        answering(409, {"status": 409, "code": "conflict", "detail": "It has no values."}).download("m", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_kernels_are_told_apart_by_what_they_run_on() -> None:
    kernels = [{"name": "csr/scalar", "backends": ["cpu", "cuda"]}, {"name": "split/tile", "backends": ["cuda"]}]
    client = answering(200, {"items": [{"kernels": kernels}]})
    assert (client.kernels(), client.kernels("cpu")) == (["csr/scalar", "split/tile"], ["csr/scalar"])


def test_submit_carries_the_request_and_a_new_key_each_time() -> None:
    requests: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(202, json={"id": "j"})

    client = client_of(keep)
    client.submit("formats", ["m"], {"rounds": 9}, "cpu")
    client.submit("formats", ["m"])
    client.submit("formats", [cast(Matrix, {"id": "m", "name": "web"})], tags=("a",), note="b")
    expected = {"study": "formats", "matrix_ids": ["m"], "params": {"rounds": 9}, "device": "cpu"}
    assert json.loads(requests[0].content) == expected
    assert json.loads(requests[2].content) == expected | {"params": {}, "device": "auto", "tags": ["a"], "note": "b"}
    assert requests[0].headers["Idempotency-Key"] != requests[1].headers["Idempotency-Key"]


def test_wait_tells_every_state_and_ends_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.client.POLL_S", 0.0)
    states: Iterator[str] = iter(["queued", "running", "running", "succeeded"])
    client = client_of(lambda _: httpx.Response(200, json={"state": next(states)}))
    seen: list[str] = []
    assert client.wait("j", lambda job: seen.append(job["state"]))["state"] == "succeeded"
    assert seen == ["queued", "running", "running", "succeeded"]


def test_wait_gives_up_and_says_that_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.client.POLL_S", 0.0)
    with pytest.raises(TimeoutError, match="Job j is still running after 0 s"):
        answering(200, {"state": "running"}).wait("j", timeout_s=0)


def test_a_matrix_that_failed_raises_its_problem() -> None:
    problem = {"status": 422, "code": "invalid_matrix_file", "detail": "Line 9: index 0."}
    with pytest.raises(MatrixFileError, match="Line 9: index 0"):
        answering(200, {"state": "failed", "error": problem}).wait_matrix("m")


def test_a_job_is_offered_again_while_the_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.connection.RETRY_S", 0.0)
    keys: list[str] = []

    def starting(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) < 3:
            return httpx.Response(503, json={"code": "unavailable", "detail": "No worker offers a device now."})
        return httpx.Response(202, json={"id": "job"})

    assert client_of(starting).submit("formats", ["m"])["id"] == "job"
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_job_that_is_never_taken_ends_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsight.client.PATIENCE_S", -1.0)
    client = answering(503, {"code": "unavailable", "detail": "The queue holds 1000 jobs."})
    with pytest.raises(UnavailableError, match="The queue holds 1000 jobs"):
        client.submit("formats", ["m"])


def test_the_measurements_of_jobs_become_one_frame_with_names_and_environment() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        kind, name, *_ = request.url.path.removeprefix("/api/v1/").split("/")
        if kind == "matrices":
            known = {"id": "m", "name": "web"} if name == "m" else {"status": 404, "code": "not_found", "detail": "No."}
            return httpx.Response(200 if name == "m" else 404, json=known)
        record = {"matrix_id": "m" if name == "a" else "gone", "median_s": 0.5, "environment": {"driver": f"of {name}"}}
        return httpx.Response(200, json={"measurements": [record]})

    assert client_of(answer).to_pandas("a", "b").to_dict("records") == [
        {"job": "a", "matrix": "web", "matrix_id": "m", "median_s": 0.5, "environment.driver": "of a"},
        {"job": "b", "matrix": "gone", "matrix_id": "gone", "median_s": 0.5, "environment.driver": "of b"},
    ]


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        answering(200, {"measurements": []}).to_pandas("j")


def test_a_figure_is_asked_for_by_its_selection() -> None:
    urls: list[str] = []

    def draw(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(200, json={"data": [{"type": "bar", "name": "csr/vector"}], "layout": {}})

    figure = client_of(draw).figure("formats", job=["a", "b"], cache="warm")
    assert [trace.name for trace in figure.data] == ["csr/vector"]
    assert urls == ["http://test/api/v1/figures/formats?job=a&job=b&cache=warm"]


def test_an_id_cannot_leave_its_place_in_the_address() -> None:
    paths: list[bytes] = []

    def keep(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return httpx.Response(404, json={"code": "not_found", "detail": "no"})

    with pytest.raises(NotFoundError):
        client_of(keep).job("../matrices?x")
    assert paths == [b"/api/v1/jobs/..%2Fmatrices%3Fx"]


def test_the_former_name_of_stop_warns() -> None:
    client = client_of(lambda request: httpx.Response(202, json={"id": request.url.path}))
    with pytest.warns(DeprecationWarning, match=r"Use Client\.stop"):
        assert client.enough("j")["id"] == client.stop("j")["id"] == "/api/v1/jobs/j/stop"
