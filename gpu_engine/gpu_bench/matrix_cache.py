"""MatrixCache: a folder of the benchmark matrices, each of which is generated once, in parallel processes."""

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError
from gpu_engine.generators import generate
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.host.whole_files import write_whole
from gpu_engine.matrix_io import ReadLimits, read_matrix
from gpu_engine.multigpu.generated import GeneratedMatrix
from gpu_engine.recordings.files import MatrixRecord, describe, kind_of
from gpu_engine.records import as_json, dumps

NNZ_MAX = 2_000_000_000
"""Most nonzeros of a generated matrix; higher than in the service, because of the matrices for several GPUs."""

ARRAYS = ("indptr", "indices", "values")


@dataclass(frozen=True, slots=True)
class MatrixCache:
    """Folder of the benchmark matrices.

    folder      folder of the arrays and the description of each matrix
    collection  folder with files of the SuiteSparse Matrix Collection, `Name.mtx.gz`; None: skip its matrices
    """

    folder: Path
    collection: Path | None = None

    def has_source(self, subject: Subject) -> bool:
        """Return whether the matrix exists or can be created; a matrix of the collection needs its file."""
        if kind_of(subject.source) == "generated" or self._is_complete(subject):
            return True
        return self.collection is not None and self._file(subject).is_file()

    def fill(self, subjects: Iterable[Subject], say: Callable[[str], None]) -> None:
        """Create the missing matrices; raise the error of the first one that cannot be created."""
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [subject for subject in subjects if not self._is_complete(subject)]
        if not missing:
            return
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            pending = {pool.submit(self.make, subject): subject for subject in missing}
            for done in as_completed(pending):
                say(f"generated {pending[done].name}: {done.result().nnz} nonzeros")

    def make(self, subject: Subject) -> MatrixRecord:
        """Create and store one matrix; its description is written last, so that an incomplete one is created again."""
        if subject.is_in_parts:
            # Its features would need the whole matrix.
            parts = _in_parts(subject)
            shape, nnz = (parts.n_rows, parts.n_cols), parts.nnz
            record = MatrixRecord(subject.name, subject.name, parts.fingerprint(), *shape, nnz, source=subject.source)
        else:
            matrix = self._whole(subject)
            for name in ARRAYS:
                np.save(self._path(subject, f"{name}.npy"), getattr(matrix, name))
            record = describe(subject.name, subject.name, matrix, subject.source)
        write_whole(self._path(subject, "json"), dumps(as_json(record)))
        return record

    def record(self, subject: Subject) -> MatrixRecord:
        """Return the description of a stored matrix."""
        return MatrixRecord(**json.loads(self._path(subject, "json").read_text(encoding="utf-8")))

    def measured(self, subject: Subject) -> CsrMatrix | GeneratedMatrix:
        """Return the matrix to measure: a stored one, or one whose partitions the devices generate."""
        return _in_parts(subject) if subject.is_in_parts else self.matrix(subject)

    def matrix(self, subject: Subject) -> CsrMatrix:
        """Return a stored matrix."""
        record = self.record(subject)
        arrays = (np.load(self._path(subject, f"{name}.npy")) for name in ARRAYS)
        return CsrMatrix(record.n_rows, record.n_cols, *arrays)

    def _whole(self, subject: Subject) -> CsrMatrix:
        if kind_of(subject.source) == "generated":
            return generate(subject.source["generator"], subject.source["params"], NNZ_MAX)
        return read_matrix(self._file(subject), ReadLimits()).matrix

    def _is_complete(self, subject: Subject) -> bool:
        """Return whether the matrix is stored and was created from the same source."""
        try:
            return dict(self.record(subject).source) == dict(subject.source)
        except (OSError, ValueError, TypeError):
            return False

    def _path(self, subject: Subject, ending: str) -> Path:
        return self.folder / f"{subject.name.replace(', ', '-')}.{ending}"

    def _file(self, subject: Subject) -> Path:
        if self.collection is None:
            raise InputError(
                f"{subject.name} is a matrix of the collection. Give the folder of its file with --collection."
            )
        return self.collection / f"{subject.name}.mtx.gz"


def _in_parts(subject: Subject) -> GeneratedMatrix:
    return GeneratedMatrix.of(subject.source["generator"], subject.source["params"])
