import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.errors import InputError
from gpu_engine.records import Case, Details, Measurement, backend_of, measurement_from_json

CASE = Case("m", "csr/vector", "warm")

NAMES = st.text(min_size=1).filter(lambda text: not set(text) & set("|,="))
VALUES = st.text().filter(lambda text: not set(text) & set("|,"))
KERNELS = st.text().filter(lambda text: "|" not in text)
CACHES = st.sampled_from(("cold", "warm"))


@given(st.text(), KERNELS, CACHES, st.lists(st.tuples(NAMES, VALUES), max_size=4))
def test_parse_is_the_inverse_of_key(matrix_id: str, kernel: str, cache: str, axes: list[tuple[str, str]]) -> None:
    case = Case(matrix_id, kernel, cache, tuple(axes))  # type: ignore[arg-type]
    assert Case.parse(case.key) == case


@pytest.mark.parametrize("axes", [(("a", "x=1"),), (("a", "x=1=2"), ("b", "")), (("a", "="),), ()])
def test_a_value_keeps_its_equals_signs(axes: tuple[tuple[str, str], ...]) -> None:
    assert Case.parse(Case("m|n", "csr/vector", "warm", axes).key).axes == axes


@pytest.mark.parametrize(
    ("kernel", "axes"),
    [
        ("csr/vector", (("a", "x,y=1"),)),
        ("csr/vector", (("a", "x,"),)),
        ("csr/vector", (("a", "x|y"),)),
        ("csr/vector", (("a,b", "1"),)),
        ("csr/vector", (("a=b", "1"),)),
        ("csr/vector", (("a|b", "1"),)),
        ("csr/vector", (("", "1"),)),
        ("csr|vector", ()),
    ],
)
def test_what_divides_a_key_is_no_part_of_a_case(kernel: str, axes: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(InputError):
        Case("m", kernel, "warm", axes)


def timed(rounds: int | None, **fields: object) -> Measurement:
    known: dict[str, Any] = {
        "median_s": 2.0,
        "ci_low_s": 1e-22,
        "ci_high_s": 1e22,
        "min_s": 1.0,
        "q1_s": 1.5,
        "q3_s": 2.5,
    }
    return Measurement.of(CASE, "cpu", Details, rounds=rounds, **known | fields)


@pytest.mark.parametrize(("rounds", "has"), [(1, False), (2, False), (3, False), (4, False), (5, True), (None, True)])
def test_fewer_than_five_rounds_have_no_interval(rounds: int | None, has: bool) -> None:
    m = timed(rounds)
    assert (m.ci_low_s is not None, m.ci_high_s is not None) == (has, has)


@pytest.mark.parametrize("samples", [(3.0,), (3.0, 4.5), (3.0, 3.5, 9.0), (3.0, 3.25, 8.0, 9.5), (1.0, 1.0, 1.0, 64.0)])
def test_quartiles_of_a_few_rounds_give_the_slowest(samples: tuple[float, ...]) -> None:
    import numpy as np

    low, q1, median, q3 = map(float, np.quantile(samples, (0.0, 0.25, 0.5, 0.75)))
    m = timed(len(samples), min_s=low, q1_s=q1, median_s=median, q3_s=q3)
    assert m.few_rounds_s == pytest.approx(samples)
    assert m.max_s == pytest.approx(max(samples))


@pytest.mark.parametrize(
    ("fields", "backend"),
    [
        ({"device": "cpu"}, "cpu"),
        ({"device": "cuda:0"}, "cuda"),
        ({"device": "recorded:node7", "environment": {"numba": "0.60"}}, "cpu"),
        ({"device": "cluster", "environment": {"threads": "8"}}, "cpu"),
        ({"device": "cpu", "environment": {"compute capability": "9.0"}}, "cuda"),
        ({"device": "not-a-cpu"}, "cuda"),
        ({"device": "recorded:gpu-beside-a-cpu", "backend": "cuda"}, "cuda"),
        ({"device": "recorded:node7", "backend": "cpu"}, "cpu"),
    ],
)
def test_an_older_record_has_the_backend_of_its_software(fields: dict[str, object], backend: str) -> None:
    assert backend_of(fields) == backend


def test_an_earlier_record_as_json_is_read() -> None:
    fields = dataclasses.asdict(timed(2)) | {"details": {}, "ci_low_s": 1e-22, "ci_high_s": 1e22}
    earlier = {name: value for name, value in fields.items() if name not in ("max_s", "backend")}
    m = measurement_from_json(earlier)
    assert (m.backend, m.max_s, m.ci_low_s, m.ci_high_s) == ("cpu", 3.0, None, None)
