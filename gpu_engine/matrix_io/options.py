"""ReadOptions: what a file leaves open and its sender has to say."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import ParameterError, quote
from gpu_engine.parameters import parameter, parse_params

DIRECTIONS = {"true": True, "false": False, "": None}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read an edge list; every other format says all of this itself.

    A list without a direction is refused: a wrong guess gives another graph and other ranks without a sign of it.
    """

    directed: bool | None = parameter(
        None, "true: the line `u v` is the edge u → v; false: each line stands for both directions."
    )
    weights: Literal["auto", "ignore"] = parameter(
        "auto", "auto: a third column holds the values, without one they are 1; ignore: every value is 1."
    )
    duplicates: Literal["sum", "last", "refuse"] = parameter(
        "sum", "A repeated edge: add the values up, keep the last one, or refuse the file."
    )


def parse_options(fields: Mapping[str, str]) -> ReadOptions:
    """The options of form fields, where an empty field says nothing; raises ParameterError."""
    values: dict[str, Any] = {name: text for name, text in fields.items() if text}
    if "directed" in values:
        if values["directed"] not in DIRECTIONS:
            raise ParameterError(f"directed is {quote(values['directed'])}; expected true or false.")
        values["directed"] = DIRECTIONS[values["directed"]]
    return parse_params(ReadOptions, values)


def chosen(options: ReadOptions) -> dict[str, Any]:
    """The options that differ from their defaults, as plain values."""
    standard = ReadOptions()
    return {name: value for name, value in dataclasses.asdict(options).items() if value != getattr(standard, name)}
