"""The new study in the lists: a plugin for a pytest of its own, which changes them before anything has read them."""

import importlib
from pathlib import Path

import pytest

WRITTEN = tuple(sorted(path.name for path in (Path(__file__).parent / "new_study").glob("[!_]*.py")))
"""The files that adding a study takes."""

LISTS = (
    ("gpu_engine.studies", "STUDIES", "tests.new_study.study", "TRANSPOSE"),
    ("web.studies", "PAGES", "tests.new_study.page", "TRANSPOSE_PAGE"),
)
"""The lists that it is put into: the module and name of each, and of what is added."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Adds to each list, as its module would."""
    for module, name, source, value in LISTS:
        own = importlib.import_module(module)
        setattr(own, name, (*getattr(own, name), getattr(importlib.import_module(source), value)))
