import math
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import TypeAdapter

from gpu_engine.errors import ParameterError
from gpu_engine.parameters import LIST_MAX, parameter, parse_params


@dataclass(frozen=True)
class Oven:
    degrees: float = parameter(180.0, "Temperature in °C.", ge=0, le=300)
    trays: int = parameter(1, "Trays.", ge=1, le=4)
    fan: bool = parameter(False, "Fan.")
    mode: Literal["bake", "grill"] = parameter("bake", "Mode.")
    steps: tuple[int, ...] = parameter((1, 2), "Steps.", ge=1, le=9, max_length=3)
    names: tuple[str, ...] = parameter((), "Names.")
    label: str | None = parameter(None, "Label.")


@dataclass(frozen=True)
class Needy:
    size: int
    counts: tuple[int, ...] = ()


def test_defaults_and_given_values() -> None:
    assert parse_params(Oven, {}) == Oven()
    sent = {"degrees": 200, "trays": 4, "fan": True, "mode": "grill", "steps": [9, 1], "names": ["x"], "label": "pie"}
    oven = parse_params(Oven, sent)
    assert oven == Oven(200.0, 4, True, "grill", (9, 1), ("x",), "pie")
    assert type(oven.degrees) is float
    assert parse_params(Oven, {"label": None}).label is None
    assert parse_params(Oven, {"steps": [3, 1, 3]}).steps == (3, 1)


def test_what_is_no_list_of_choices_keeps_its_repeats() -> None:
    assert parse_params(Needy, {"size": 1, "counts": [3, 1, 3]}).counts == (3, 1, 3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"colour": 1}, "no parameter 'colour'; known: degrees, trays"),
        ({"degrees": 301}, "degrees is '301'; expected a finite number from 0 to 300"),
        ({"degrees": math.nan}, "finite"),
        ({"degrees": 10**400}, "finite"),
        ({"degrees": True}, "finite"),
        ({"degrees": "180"}, "finite"),
        ({"trays": 0}, "a whole number from 1 to 4"),
        ({"trays": 2.0}, "whole"),
        ({"trays": True}, "whole"),
        ({"fan": 1}, "true or false"),
        ({"mode": "boil"}, "one of bake, grill"),
        ({"mode": ["bake"]}, "one of bake, grill"),
        ({"steps": [1, 10]}, r"steps\[1\] is '10'; expected a whole number from 1 to 9"),
        ({"steps": [1, 1, 1, 1]}, "a list of length at most 3, each item a whole number"),
        ({"steps": 3}, "a list"),
        ({"names": ["a"] * (LIST_MAX + 1)}, f"a list of length at most {LIST_MAX}, each item text"),
        ({"label": 3}, "text"),
        ({"degrees": None}, "finite"),
    ],
)
def test_bad_values(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        parse_params(Oven, values)


def test_missing_value() -> None:
    with pytest.raises(ParameterError, match="'size' is missing; expected a whole number"):
        parse_params(Needy, {})


def test_pydantic_reads_the_same_metadata() -> None:
    properties = TypeAdapter(Oven).json_schema()["properties"]
    assert properties["trays"] == {
        "default": 1, "description": "Trays.", "maximum": 4, "minimum": 1, "title": "Trays", "type": "integer"
    }  # fmt: skip
