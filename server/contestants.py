"""Contestants on a server: those of the folder that its operator names, and nothing that a caller sends."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_engine.contestants.sources import in_folder, offered
from server.settings import Settings


def known_contestants(settings: Settings) -> tuple[str, ...]:
    """What jobs may name; files are read, and their code is not run."""
    folder = _folder(settings)
    return offered(folder) if folder else ()


def located(params: Any, settings: Settings) -> Any:
    """Parameters of a study with the operator's folder before the files that they name.

    Raises ParameterError for a contestant that is not offered here.
    """
    named = getattr(params, "contestants", ())
    return replace(params, contestants=in_folder(named, _folder(settings))) if named else params


def _folder(settings: Settings) -> Path | None:
    return Path(settings.contestants).expanduser().absolute() if settings.contestants else None
