"""Jobs and matrices by id, by how it begins, and by URL."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpu_engine.errors import InputError, NotFoundError
from sparsight.addresses import Address, job_address, matrix_address
from sparsight.lookups import find_job, find_matrix

IDS = ("5f0c6a1e2b4d", "5f0c77777777", "abcd00000000", "abc")


class FakeClient:
    """A client of a server with the jobs and matrices of IDS."""

    def job(self, job_id: str) -> dict[str, Any]:
        if job_id not in IDS:
            raise NotFoundError(f"There is no {job_id}.")
        return {"id": job_id}

    def jobs(self) -> Iterator[dict[str, Any]]:
        return ({"id": entry} for entry in IDS)

    def matrix(self, matrix_id: str) -> dict[str, Any]:
        return self.job(matrix_id)

    def matrices(self, q: str, recorded: bool) -> Iterator[dict[str, Any]]:
        """As the server: names that contain the text too, and recorded ones only when asked for."""
        return ({"id": entry} for entry in (*IDS, f"named {q}") if recorded)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("5f0c", Address("5f0c")),
        ("http://127.0.0.1:18080/jobs/5f0c", Address("5f0c", "http://127.0.0.1:18080")),
        ("https://lab/api/v1/jobs/5f0c/?x=1#y", Address("5f0c", "https://lab")),
        ("http://[::1]:8000/jobs/5f0c", Address("5f0c", "http://[::1]:8000")),
    ],
)
def test_a_url_is_an_id_on_a_server(text: str, address: Address) -> None:
    assert job_address(text) == address


@pytest.mark.parametrize("text", ["http://lab/matrices/5f0c", "http://lab/jobs/", "http://lab", "ftp://lab/jobs/5f0c"])
def test_an_address_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="Expected http://…/jobs/ID"):
        job_address(text)
    assert matrix_address("http://lab/matrices/5f0c") == Address("5f0c", "http://lab")


@pytest.mark.parametrize("find", [find_job, find_matrix])
def test_the_beginning_of_one_id_stands_for_it(find: Any) -> None:
    assert find(FakeClient(), Address("5f0c6")) == {"id": "5f0c6a1e2b4d"}
    assert find(FakeClient(), Address("abc")) == {"id": "abc"}
    with pytest.raises(InputError, match="'5f0c' matches 2 ids"):
        find(FakeClient(), Address("5f0c"))
    for unknown in ("5f0d", "5f", "named 5f0c"):
        with pytest.raises(NotFoundError, match=f"There is no {unknown}"):
            find(FakeClient(), Address(unknown))
    with pytest.raises(InputError, match="The id is empty"):
        find(FakeClient(), Address(""))
