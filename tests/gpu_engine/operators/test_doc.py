"""The examples of docs/operator.md: those of a CPU run, in order, and give what they say."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "operator.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)


def test_the_examples_of_a_cpu_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    monkeypatch.setattr("gpu_engine.operators.autotune.TRIED", 2)
    found: dict[str, Any] = {}
    run = 0
    for example in EXAMPLES:
        parsed = compile(ast.parse(example), str(DOCUMENT), "exec")
        if "cupy" not in example:
            exec(parsed, found)
            run += 1
    assert run == len(EXAMPLES) - 3
    matrix = found["matrix"]
    np.testing.assert_allclose(found["y"], matrix @ np.ones(1500))
    np.testing.assert_allclose(found["z"], matrix.T @ found["y"])
    np.testing.assert_allclose(found["out"], matrix @ np.ones(1500))
    assert found["info"] == 0
    np.testing.assert_allclose(found["laplace"] @ found["solution"], 1.0, atol=1e-8)
    said = capsys.readouterr().out
    assert said.startswith("Operator 2,000 × 1,500, 30,000 nonzeros, float64, on cpu\n  kernel          csr/smart")
    assert all(part in said for part in ("fastest of 2 kernels", "in an auto-tuning run")), said
    # On a busy machine SpMVs on the same arrays may seem as fast: then there is no transposed copy.
    assert " more, built in " in said or said.endswith("\nNone\n")
