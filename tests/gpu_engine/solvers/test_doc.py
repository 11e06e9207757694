"""The examples of docs/solvers.md run, in order, and give what they say."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.solvers.base import Status
from gpu_engine.solvers.preconditioners import PRECONDITIONERS

TEXT = (Path(__file__).parents[3] / "docs" / "solvers.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    names: dict[str, Any] = {}
    for example in EXAMPLES:
        exec(compile(example, "docs/solvers.md", "exec"), names)
    assert len(EXAMPLES) == 5
    assert names["solution"].converged.all()
    first, second, third = names["same"].x.reshape(3, 40)
    np.testing.assert_allclose(first, 2.0 * second, rtol=1e-4)
    np.testing.assert_allclose(first, 3.0 * third, rtol=1e-4)
    b, matrix = names["b"], names["matrix"]
    infos = names["infos"]
    assert (np.linalg.norm(names["B"] - matrix @ names["X"], axis=0) <= infos.solution.bound).all()
    assert names["column"].iterations == infos.solution.iterations[0]
    assert np.linalg.norm(b - matrix @ names["x"]) <= 1e-8 * np.linalg.norm(b)
    assert names["better"].solution.iterations < 0.5 * names["plain"].solution.iterations
    assert capsys.readouterr().out.startswith(str(names["A"].cg(b, rtol=1e-8)[1].solution))


def test_every_status_and_preconditioner_is_described() -> None:
    assert {status.name for status in Status if f"`{status.name}`" in TEXT} == {s.name for s in Status} - {"RUNNING"}
    numbers = {name: int(number) for name, number in re.findall(r"^\| `([A-Z_]+)` \| −(\d) \|", TEXT, re.M)}
    assert numbers == {s.name: s.number for s in Status if s.name in numbers}
    assert len(numbers) == 5
    assert all(f'"{name}' in TEXT for name in PRECONDITIONERS)
