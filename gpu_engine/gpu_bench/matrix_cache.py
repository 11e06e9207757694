"""A folder of the benchmark's matrices: each is made once, by as many processes as there are cores, and kept."""

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
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.host.whole_files import write_whole
from gpu_engine.matrix_io import ReadLimits, read_matrix
from gpu_engine.multigpu.generated import GeneratedMatrix
from gpu_engine.recordings.files import MatrixRecord, describe, kind_of
from gpu_engine.records import as_json, dumps

NNZ_MAX = 2_000_000_000
"""More than a service makes: matrices for several GPUs are larger than those of users."""

ARRAYS = ("indptr", "indices", "values")


@dataclass(frozen=True, slots=True)
class MatrixCache:
    """Where the matrices are kept.

    folder      for the arrays and the description of each matrix
    collection  files of the SuiteSparse Matrix Collection, `Name.mtx.gz`; None: real matrices are left out
    """

    folder: Path
    collection: Path | None = None

    def has_source(self, subject: Subject) -> bool:
        """Whether the matrix is here or can be made: a collected one needs its file."""
        if kind_of(subject.source) == "generated" or self._is_complete(subject):
            return True
        return self.collection is not None and self._file(subject).is_file()

    def fill(self, subjects: Iterable[Subject], say: Callable[[str], None]) -> None:
        """Makes what is not there yet; raises the error of the first that cannot be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [subject for subject in subjects if not self._is_complete(subject)]
        if not missing:
            return
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            pending = {pool.submit(self.make, subject): subject for subject in missing}
            for done in as_completed(pending):
                say(f"made {pending[done].name}: {done.result().nnz} nonzeros")

    def make(self, subject: Subject) -> MatrixRecord:
        """Makes one matrix and keeps it; the description is written last, and a matrix without one is made again."""
        if subject.is_in_parts:
            # Its features would need the whole.
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
        """The description of a matrix that was made."""
        return MatrixRecord(**json.loads(self._path(subject, "json").read_text(encoding="utf-8")))

    def measured(self, subject: Subject) -> CsrMatrix | GeneratedMatrix:
        """What is measured of a subject: a matrix that was made, or one whose parts devices make."""
        return _in_parts(subject) if subject.is_in_parts else self.matrix(subject)

    def matrix(self, subject: Subject) -> CsrMatrix:
        """A matrix that was made."""
        record = self.record(subject)
        arrays = (np.load(self._path(subject, f"{name}.npy")) for name in ARRAYS)
        return CsrMatrix(record.n_rows, record.n_cols, *arrays)

    def _whole(self, subject: Subject) -> CsrMatrix:
        if kind_of(subject.source) == "generated":
            return generate(subject.source["generator"], subject.source["params"], NNZ_MAX)
        return read_matrix(self._file(subject), ReadLimits()).matrix

    def _is_complete(self, subject: Subject) -> bool:
        """Whether it was made, by the same call."""
        try:
            return dict(self.record(subject).source) == dict(subject.source)
        except (OSError, ValueError, TypeError):
            return False

    def _path(self, subject: Subject, ending: str) -> Path:
        return self.folder / f"{subject.name.replace(', ', '-')}.{ending}"

    def _file(self, subject: Subject) -> Path:
        if self.collection is None:
            raise InputError(f"{subject.name} is a matrix of the collection; say in which folder its file is.")
        return self.collection / f"{subject.name}.mtx.gz"


def _in_parts(subject: Subject) -> GeneratedMatrix:
    return GeneratedMatrix.of(subject.source["generator"], subject.source["params"])
