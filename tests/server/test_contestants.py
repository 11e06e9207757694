"""Contestants on a server: those of the operator's folder, chosen by name, never by path and never by upload."""

import dataclasses
from pathlib import Path

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.studies.formats import FormatsParams
from gpu_engine.studies.pagerank import PagerankParams
from server.contestants import known_contestants, located
from server.settings import Settings

OWN = FormatsParams(contestants=("spmv.py:VECTOR",))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "spmv.py").write_text("VECTOR = Contestant(run())\n", encoding="utf-8")
    return Settings(home=tmp_path, contestants=str(tmp_path / "own"))


def test_a_job_names_what_the_folder_has(settings: Settings) -> None:
    assert known_contestants(settings) == ("spmv.py:VECTOR",)
    assert located(OWN, settings) == dataclasses.replace(OWN, contestants=(f"{settings.contestants}/spmv.py:VECTOR",))


@pytest.mark.parametrize("name", ["other.py:VECTOR", "../own/spmv.py:VECTOR", "/etc/spmv.py:VECTOR", "spmv.py:OTHER"])
def test_what_it_has_not_is_refused_with_what_there_is(settings: Settings, name: str) -> None:
    with pytest.raises(ParameterError, match=r"There is no contestant .*; known: spmv\.py:VECTOR\."):
        located(FormatsParams(contestants=(name,)), settings)


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    bare = Settings(home=tmp_path)
    assert known_contestants(bare) == ()
    with pytest.raises(ParameterError, match="its operator has named no folder"):
        located(OWN, bare)
    assert located(PagerankParams(), bare) == PagerankParams()
