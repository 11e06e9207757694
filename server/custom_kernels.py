"""Custom kernels on a server: those of the folder that its operator names, and nothing that a caller sends."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_engine.custom_kernels.sources import in_folder, offered
from gpu_engine.errors import ParameterError
from gpu_engine.host.private_files import explain, exposures
from server.settings import Settings


def known_custom_kernels(settings: Settings) -> tuple[str, ...]:
    """What jobs may name; files are read, and their code is not run."""
    folder = folder_of(settings)
    return offered(folder) if folder and not refusal(folder) else ()


def located(params: Any, settings: Settings) -> Any:
    """Parameters of a study with the operator's folder before the files that they name.

    Raises ParameterError for a custom kernel that is not offered here, and where others can write the folder.
    """
    named, folder = getattr(params, "custom_kernels", ()), folder_of(settings)
    if named and folder and refusal(folder):
        raise ParameterError(
            "The folder of custom kernels is missing, or other users can write it, who could run code as the service. "
            "Its operator learns what to do from `sparsight doctor`."
        )
    return replace(params, custom_kernels=in_folder(named, folder)) if named else params


def refusal(folder: Path) -> str:
    """Return why code of a folder is not run, with the remedy; empty: no other user can change it."""
    if not folder.is_dir():
        return f"{folder} is missing. Make it, or correct SPARSIGHT_CUSTOM_KERNELS."
    found = next(exposures(folder), None)
    return explain(found) if found else ""


def folder_of(settings: Settings) -> Path | None:
    """Return the folder that the operator names; None: none."""
    return Path(settings.custom_kernels).expanduser().absolute() if settings.custom_kernels else None
