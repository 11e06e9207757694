"""Contestants on a server: those of the folder that its operator names, and nothing that a caller sends."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_engine.contestants.sources import in_folder, offered
from gpu_engine.errors import ParameterError
from server.folders import OTHERS_MAY_WRITE
from server.settings import Settings


def known_contestants(settings: Settings) -> tuple[str, ...]:
    """What jobs may name; files are read, and their code is not run."""
    folder = _folder(settings)
    return offered(folder) if folder and not _is_open(folder) else ()


def located(params: Any, settings: Settings) -> Any:
    """Parameters of a study with the operator's folder before the files that they name.

    Raises ParameterError for a contestant that is not offered here, and where others can write the folder.
    """
    named, folder = getattr(params, "contestants", ()), _folder(settings)
    if named and folder and _is_open(folder):
        raise ParameterError(
            "The folder of contestants is missing, or other users can write it, who could run code as the service. "
            "Its operator has to run `chmod -R go-w` on it."
        )
    return replace(params, contestants=in_folder(named, folder)) if named else params


def _folder(settings: Settings) -> Path | None:
    return Path(settings.contestants).expanduser().absolute() if settings.contestants else None


def _is_open(folder: Path) -> bool:
    """Whether others than its owner may change what is run; so is a folder that is not there."""
    if not folder.is_dir():
        return True
    return any(path.stat().st_mode & OTHERS_MAY_WRITE for path in (folder, *folder.glob("*.py")))
