"""Custom kernels of a file in the rounds of a study, on a device whose floors no real time is under."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.records import MatrixInfo, Measurement
from gpu_engine.studies.formats import FormatsParams, FormatsStudy

ARCHIVE = Path(__file__).parent / "archive"


def names_in(path: Path) -> list[str]:
    """The custom kernels of a file: its names in capitals that are no constant of another kind."""
    nodes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.Assign)]
    names = [target.id for node in nodes for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if name.isupper() and name not in ("END", "PATIENCE")]


def measured(
    bench: Bench, matrix: CsrMatrix, references: Sequence[str], kernels: Sequence[str] = ("csr/vector",)
) -> Mapping[tuple[str, str], Measurement]:
    """(kernel, cache) → measurement, of the custom kernels and of kernels of ours in the same rounds."""
    found: dict[tuple[str, str], Measurement] = {}
    params = FormatsParams(kernels=tuple(kernels), rounds=9, energy_s=0.0, custom_kernels=tuple(references))
    info = MatrixInfo("m", "m", matrix.n_rows, matrix.n_cols, matrix.nnz)
    study = FormatsStudy()
    cases = tuple(study.cases(params, [info], bench.device))
    for record in study.run(params, cases, {"m": matrix}, bench):
        if isinstance(record, Measurement):
            found[record.kernel, record.cache] = record
    assert sorted(found) == sorted((case.kernel, case.cache) for case in cases)
    return found
