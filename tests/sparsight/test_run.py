"""Results of a server in a terminal, also of a server of another release."""

import io
from typing import Any

import pytest
from rich.console import Console

from gpu_engine import release
from gpu_engine.errors import ConflictError, NotFoundError
from gpu_engine.records import as_json
from sparsight.run import Task
from tests.samples.formats import study_of


class OneJob:
    """A client of a server with one job."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def results(self, _: str) -> dict[str, Any]:
        measurements = [as_json(m) | self.fields for m in study_of("m")]
        return {"measurements": measurements, "schema": "sparsight.records/2"}

    def matrix(self, matrix_id: str) -> Any:
        raise NotFoundError(matrix_id)


def printed(**fields: Any) -> str:
    out = Console(file=io.StringIO(), width=200)
    client: Any = OneJob(**fields)
    job: Any = {"id": "j", "state": "succeeded"}
    assert Task(client, Console(file=io.StringIO()), out).print_results(job, as_json=False)
    return out.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_results_are_printed() -> None:
    assert "csr/vector" in printed()


def test_results_of_another_release_are_refused_with_both_releases() -> None:
    with pytest.raises(ConflictError) as refused:
        printed(temperature=3, environment={"sparsight": "9.8.7"})
    assert "9.8.7" in refused.value.message
    assert release() in refused.value.message
    with pytest.raises(ConflictError, match=release()):
        printed(temperature=3, environment={"sparsight": release()})
