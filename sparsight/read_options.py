"""Command-line flags for the fields of ReadOptions, created when the command is used.

Importing the readers takes seconds; other commands must not wait for it.
"""

from dataclasses import fields
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, get_origin, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command

SWITCH = Literal["true", "false"]
"""Values of a flag for a field of type bool."""


class ReadOptionsCommand(TyperCommand):
    """Command with one flag per field of ReadOptions; `ctx.obj` maps each given flag to its text."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the function, then the flags."""
        return [*self.params, *_flags(), *super().get_params(ctx)[len(self.params) :]]


def _flags() -> list[Any]:
    """Return the flags, which Typer creates from the parameters of a function."""
    from gpu_engine.matrix_io import ReadOptions

    def command() -> None: ...

    hints = get_type_hints(ReadOptions)
    flags = [_flag(field.name, hints[field.name], field.metadata["description"]) for field in fields(ReadOptions)]
    command.__signature__ = Signature(flags)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(get_command(app).params)


def _flag(name: str, hint: Any, description: str) -> Parameter:
    choices = hint if get_origin(hint) is Literal else SWITCH
    panel = "Options for edge lists and incomplete Matrix Market headers"
    option = typer.Option(help=description, callback=_store_value, expose_value=False, rich_help_panel=panel)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[choices | None, option])


def _store_value(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> str | None:
    if value is not None:
        ctx.ensure_object(dict)[str(param.name)] = value
    return value
