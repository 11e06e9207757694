"""Custom kernels on a server: the kernels in the folder that the operator configures. Callers cannot send code."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_engine.custom_kernels.sources import in_folder, offered
from gpu_engine.errors import ParameterError
from gpu_engine.host.private_files import explain, exposures
from server.settings import Settings


def known_custom_kernels(settings: Settings) -> tuple[str, ...]:
    """Return the names of the custom kernels that jobs may use, without running their code."""
    folder = folder_of(settings)
    return offered(folder) if folder and not refusal(folder) else ()


def located(params: Any, settings: Settings) -> Any:
    """Return the parameters of a study with the configured folder before the names of custom kernels.

    Raises ParameterError for an unknown custom kernel, and if other users can write the folder.
    """
    named, folder = getattr(params, "custom_kernels", ()), folder_of(settings)
    if named and folder and refusal(folder):
        raise ParameterError(
            "The folder of custom kernels is missing, or other users can write it and could run "
            "code as the service. The operator of the server can run `sparsight doctor` for "
            "details."
        )
    return replace(params, custom_kernels=in_folder(named, folder)) if named else params


def refusal(folder: Path) -> str:
    """Return why the code of a folder is not run, with the remedy; empty if only its owner can change it."""
    if not folder.is_dir():
        return f"{folder} does not exist. Create it, or correct SPARSIGHT_CUSTOM_KERNELS."
    exposure = next(exposures(folder), None)
    return explain(exposure) if exposure else ""


def folder_of(settings: Settings) -> Path | None:
    """Return the configured folder of custom kernels, or None."""
    return Path(settings.custom_kernels).expanduser().absolute() if settings.custom_kernels else None
