"""ReadOptions: options for files with missing information; QUESTIONS: the options that answer a hint of a reader."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import Hint, ParameterError, quote
from gpu_engine.parameters import parameter, parse_params

DIRECTIONS = {"true": True, "false": False, "": None}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for edge lists, and the field of Matrix Market files without one.

    An edge list without a direction is an error, because a wrong guess gives another graph without any sign of it. A
    Matrix Market header without a field is an error too, until the user chooses one.
    """

    directed: bool | None = parameter(
        None, "true: a line `u v` is the edge u → v. false: each line stands for both directions."
    )
    weights: Literal["auto", "values", "ignore"] = parameter(
        "auto",
        "auto: values from the third column (1 if there is none); you are asked if the column may be times. "
        "values: always from the third column. ignore: all values are 1.",
    )
    duplicates: Literal["sum", "last", "refuse"] = parameter(
        "sum", "Repeated edges: sum the values, use the last one, or reject the file."
    )
    field: Literal["named", "real", "pattern"] = parameter(
        "named",
        "Only for Matrix Market files whose header omits the field. real: entries have values. pattern: no values. "
        "named: reject such files.",
    )
    header: Literal["ask", "sizes", "edge"] = parameter(
        "ask",
        "For a first line of an edge list that may be sizes (rows columns entries, or nodes edges). sizes: it is. "
        "edge: it is the first edge. ask: reject such files.",
    )
    ids: Literal["ask", "shared", "apart"] = parameter(
        "ask",
        "shared: rows and columns of an edge list have the same ids; the matrix is square. apart: they have separate "
        "ids. ask: like shared, but reject lists that look like rows and columns.",
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a reader to the sender of a file.

    options  fields of ReadOptions that answer it
    guesses  possible answers for a preview, each with a sentence; the first that fits is used
    """

    options: tuple[str, ...]
    guesses: tuple[tuple[Mapping[str, Any], str], ...] = ()


EDGES = ("directed", "weights", "duplicates")
LIST = (*EDGES, "header", "ids")
"""Options that apply to edge lists."""

QUESTIONS: Mapping[Hint, Question] = {
    "choose_direction": Question(
        EDGES, (({"directed": True}, "No direction was chosen; the preview shows a directed graph."),)
    ),
    "choose_duplicates": Question(EDGES),
    "choose_header": Question(
        (*EDGES, "header"),
        (
            ({"header": "sizes"}, "The first line may be sizes or an edge; the preview takes it as sizes."),
            ({"header": "edge"}, "The first line may be sizes or an edge; the preview takes it as an edge."),
        ),
    ),
    "choose_ids": Question(
        (*EDGES, "ids"),
        (({"ids": "apart"}, "Rows and columns may share their ids; the preview takes them as separate."),),
    ),
    "choose_weights": Question(
        EDGES, (({"weights": "ignore"}, "The third column may be weights or times; the preview ignores it."),)
    ),
    "choose_field": Question(
        ("field",),
        (
            ({"field": "real"}, "No field was chosen; the preview takes it as real."),
            ({"field": "pattern"}, "No field was chosen; the preview takes it as pattern."),
        ),
    ),
}
"""Hint of a MatrixFileError → the question behind it."""


def parse_options(fields: Mapping[str, str]) -> ReadOptions:
    """Return the options of form fields, in which empty fields mean the default; raises ParameterError."""
    values: dict[str, Any] = {name: text for name, text in fields.items() if text}
    if "directed" in values:
        if values["directed"] not in DIRECTIONS:
            raise ParameterError(f"directed is {quote(values['directed'])}; expected true or false.")
        values["directed"] = DIRECTIONS[values["directed"]]
    return parse_params(ReadOptions, values)


def chosen(options: ReadOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults, as plain values."""
    standard = ReadOptions()
    return {name: value for name, value in dataclasses.asdict(options).items() if value != getattr(standard, name)}
