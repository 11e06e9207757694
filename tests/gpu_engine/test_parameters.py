import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from pydantic import TypeAdapter

from gpu_engine.errors import ParameterError
from gpu_engine.parameters import LIST_MAX, assignments, parameter, parse_params


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


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("degrees=1e2,trays=3,fan=true", {"degrees": 100.0, "trays": 3, "fan": True}),
        ("steps=1,2,names=a/b,c/d, trays=2", {"steps": [1, 2], "names": ["a/b", "c/d"], "trays": 2}),
        ('steps=[1,2],names=["a","b"]', {"steps": [1, 2], "names": ["a", "b"]}),
        ("steps=7,names=12,true", {"steps": [7], "names": ["12", "true"]}),
        ("steps=,names=[]", {"steps": [], "names": []}),
        ("label=12,mode=grill", {"label": "12", "mode": "grill"}),
        ('label="12"', {"label": "12"}),
        ("label=null", {"label": None}),
        ("label=y = Ax + y,fan=false", {"label": "y = Ax + y", "fan": False}),
        ("trays=many,colour=red", {"trays": "many", "colour": "red"}),
        ("trays=" + "[" * 10_000, {"trays": "[" * 10_000}),
        ("", {}),
    ],
)
def test_what_a_person_writes_is_read_by_the_type_of_the_parameter(text: str, values: dict[str, Any]) -> None:
    assert assignments(Oven, text) == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trays", "'trays' is not of the form name=value"),
        ("=3", "'=3' is not of the form name=value"),
        ("trays=1,trays=2", "The parameter 'trays' is given twice"),
    ],
)
def test_what_is_no_assignment_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        assignments(Oven, text)


def test_missing_value() -> None:
    with pytest.raises(ParameterError, match="'size' is missing; expected a whole number"):
        parse_params(Needy, {})


def test_pydantic_reads_the_same_metadata() -> None:
    properties = TypeAdapter(Oven).json_schema()["properties"]
    assert properties["trays"] == {
        "default": 1, "description": "Trays.", "maximum": 4, "minimum": 1, "title": "Trays", "type": "integer"
    }  # fmt: skip


@dataclass(frozen=True)
class Kitchen:
    oven: Oven
    sizes: Mapping[str, int]
    open_: Any
    ovens: tuple[Oven, ...] = ()
    spare: Oven | None = None
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def test_objects_are_dataclasses_and_mappings_all_the_way_down() -> None:
    sent = {"oven": {"trays": 2}, "sizes": {"a": 1}, "open_": [1, "x"], "ovens": [{"trays": 3}, {}], "spare": {}}
    found = parse_params(Kitchen, {**sent, "notes": {"n": ["x", "x"]}})
    # The repeats of a tuple that is no parameter stay.
    assert found == Kitchen(Oven(trays=2), {"a": 1}, [1, "x"], (Oven(trays=3), Oven()), Oven(), {"n": ("x", "x")})
    assert parse_params(Kitchen, {**sent, "oven": Oven(), "spare": None}).spare is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"oven": 3}, "oven is '3'; expected an object"),
        ({"oven": {"trays": 9}}, "trays is '9'; expected a whole number from 1 to 4"),
        ({"oven": {"colour": 1}}, "no parameter 'colour'; known: degrees"),
        ({"ovens": [{}, 3]}, r"ovens\[1\] is '3'; expected an object"),
        ({"sizes": [1]}, "sizes is .* expected an object"),
        ({"sizes": {"a": "1"}}, r"sizes\.a is '1'; expected a whole number"),
        ({"notes": {"n": [1]}}, r"notes\.n\[0\] is '1'; expected text"),
    ],
)
def test_a_bad_value_inside_an_object_is_named_by_its_place(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        parse_params(Kitchen, {"oven": {}, "sizes": {}, "open_": 1, **values})


def test_a_type_that_is_left_open_is_given() -> None:
    found = parse_params(Kitchen, {"oven": {}, "sizes": {}, "open_": {"size": 3}}, open_=Needy)
    assert found.open_ == Needy(3)
    with pytest.raises(ParameterError, match="'size' is missing; expected a whole number"):
        parse_params(Kitchen, {"oven": {}, "sizes": {}, "open_": {}}, open_=Needy)
    with pytest.raises(ParameterError, match="'oven' is missing; expected an object"):
        parse_params(Kitchen, {})
