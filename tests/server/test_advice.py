"""What the document of a matrix says of kernels, by its stored features."""

import dataclasses
import json

import pytest

from gpu_engine.advisor import NEEDED, advise, is_sure, near_best
from gpu_engine.matrices.features import features
from gpu_engine.records import dumps
from server.catalogue import matrix_document
from server.models import MatrixRow, MatrixState
from server.predictors import UNCALIBRATED
from tests.battery import BATTERY


def row(**stored: object) -> MatrixRow:
    """A matrix with these features, as JSON brings them back from the database."""
    found = {name: value for name, value in stored.items() if value == value}
    return MatrixRow(
        id="m",
        name="m",
        state=MatrixState.READY,
        sha256="",
        fingerprint="",
        features=json.loads(dumps(found)),
        error={},
        created_at=0.0,
    )


def test_the_advice_is_the_advisors() -> None:
    found = features(BATTERY["power_law"]())
    document = matrix_document(row(**found), UNCALIBRATED)
    advice = document["advice"]
    assert document["near_best"] == list(near_best(found))
    assert document["confidence"] == ("high" if is_sure(found) else "low")
    assert advice == [dataclasses.asdict(one) for one in advise(found)]
    assert len(advice) == 5
    assert json.loads(dumps(advice)) == advice


@pytest.mark.parametrize("missing", ["", *NEEDED])
def test_a_matrix_with_too_few_features_gets_none(missing: str) -> None:
    found = features(BATTERY["power_law"]()) if missing else {}
    document = matrix_document(row(**{name: value for name, value in found.items() if name != missing}), UNCALIBRATED)
    assert (document["advice"], document["near_best"]) == ([], [])
    assert (document["advice_gpu"], document["confidence"]) == (None, None)
