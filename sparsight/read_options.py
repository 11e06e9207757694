"""The options of ReadOptions as flags of a command, made when the command is looked at.

The readers take seconds to import, which no other command should wait for.
"""

from dataclasses import fields
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, get_origin, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command

SWITCH = Literal["true", "false"]


class ReadOptionsCommand(TyperCommand):
    """A command with a flag for each field of ReadOptions; `ctx.obj` holds name → text of those that were given."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the function, then the flags."""
        return [*self.params, *_flags(), *super().get_params(ctx)[len(self.params) :]]


def _flags() -> list[Any]:
    """The flags, as Typer makes them of the parameters of a function."""
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
    option = typer.Option(
        help=description, callback=_keep, expose_value=False, rich_help_panel="What a file leaves open"
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[choices | None, option])


def _keep(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> str | None:
    if value is not None:
        ctx.ensure_object(dict)[str(param.name)] = value
    return value
