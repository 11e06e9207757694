"""ReadOptions: what a file leaves open and its sender has to say; QUESTIONS: which hint of a reader asks for what."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import Hint, ParameterError, quote
from gpu_engine.parameters import parameter, parse_params

DIRECTIONS = {"true": True, "false": False, "": None}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read what a file leaves open: all of this an edge list, the field a Matrix Market file without one.

    A list without a direction is refused: a wrong guess gives another graph and other ranks without a sign of it. A
    first line without a field is refused too, until somebody says which one it is.
    """

    directed: bool | None = parameter(
        None, "true: the line `u v` is the edge u → v; false: each line stands for both directions."
    )
    weights: Literal["auto", "values", "ignore"] = parameter(
        "auto",
        "auto: a third column holds the values, without one they are 1, and a column that could be times is asked "
        "about; values: so even then; ignore: every value is 1.",
    )
    duplicates: Literal["sum", "last", "refuse"] = parameter(
        "sum", "A repeated edge: add the values up, keep the last one, or refuse the file."
    )
    field: Literal["named", "real", "pattern"] = parameter(
        "named",
        "named: by the first line of a Matrix Market file; real or pattern: where that names none, whether the entries "
        "have values.",
    )
    header: Literal["ask", "sizes", "edge"] = parameter(
        "ask",
        "A first line of an edge list that can be its sizes, rows columns entries or nodes edges: sizes: it is; edge: "
        "it is the first edge; ask: such a file is refused.",
    )
    ids: Literal["ask", "shared", "apart"] = parameter(
        "ask",
        "shared: rows and columns of an edge list have one set of ids, the matrix is square; apart: they have ids of "
        "their own; ask: shared, and a list that looks like rows and columns is refused.",
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader asks the sender of a file.

    options  fields of ReadOptions that answer it
    guesses  answers with which a preview is read meanwhile, the first that fits, each with what the preview says of it
    """

    options: tuple[str, ...]
    guesses: tuple[tuple[Mapping[str, Any], str], ...] = ()


EDGES = ("directed", "weights", "duplicates")
LIST = (*EDGES, "header", "ids")
"""All that an edge list can leave open."""

QUESTIONS: Mapping[Hint, Question] = {
    "choose_direction": Question(
        EDGES, (({"directed": True}, "No direction was chosen; this is the directed reading."),)
    ),
    "choose_duplicates": Question(EDGES),
    "choose_header": Question(
        (*EDGES, "header"),
        (
            ({"header": "sizes"}, "The first line can be sizes or an edge; this is the reading as sizes."),
            ({"header": "edge"}, "The first line can be sizes or an edge; this is the reading as an edge."),
        ),
    ),
    "choose_ids": Question(
        (*EDGES, "ids"),
        (({"ids": "apart"}, "The ids can be shared or apart; this is the reading with rows and columns apart."),),
    ),
    "choose_weights": Question(
        EDGES, (({"weights": "ignore"}, "The third column can be weights or times; this reading leaves it out."),)
    ),
    "choose_field": Question(
        ("field",),
        (
            ({"field": "real"}, "No field was chosen; this is the reading as real."),
            ({"field": "pattern"}, "No field was chosen; this is the reading as pattern."),
        ),
    ),
}
"""Hint of a MatrixFileError → what would answer it."""


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
