"""Export of one kernel as a zip archive: its CUDA source, a loader that needs only CuPy, and a test against SciPy."""

import functools
import io
import zipfile
from collections.abc import Callable
from importlib.resources import files
from string import Template
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.compiler import FLAGS
from gpu_engine.errors import ParameterError
from gpu_engine.formats import find_kernel, kernel_names
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.standalone.cut import Cut

GIVEN = {("gpu_engine.cuda.load", "CudaSource"): slice(1, 2)}
"""Definitions that the loader replaces by shorter ones, with the arguments that these take."""

ENTRY_TIME = (1980, 1, 1, 0, 0, 0)
"""Time stamp of the files in an archive, so that equal kernels give equal archives."""

READABLE = 0o644
"""Mode of the files in an archive."""


def folder_of(name: str) -> str:
    """Return the name of the folder in an archive, which is also the name of the archive without its ending."""
    return name.replace("/", "-")


@functools.cache
def archive(name: str) -> bytes:
    """Return a zip archive with one folder: `*.cu`, `kernel.py`, and `test_kernel.py`.

    Raises ParameterError if no Sparsight kernel has this name (`format/variant`) on a GPU.
    """
    chosen, kernel = find_kernel(name)
    if kernel.cuda is None:
        raise ParameterError(
            f"The kernel {name} does not run on a GPU. Choose one of: {', '.join(kernel_names('cuda'))}."
        )
    files = {source.file: source.text for source in kernel.sources}
    files["kernel.py"] = _loader(name, chosen, kernel, kernel.cuda)
    files["test_kernel.py"] = _template("test_kernel.txt").substitute(
        matrix="scipy.sparse.bmat([[None, matrix], [matrix.T, None]]).tocsr()" if chosen.symmetric_only else "matrix"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file, text in files.items():
            entry = zipfile.ZipInfo(f"{folder_of(name)}/{file}", ENTRY_TIME)
            entry.external_attr = READABLE << 16
            zipped.writestr(entry, text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _loader(name: str, chosen: Format, kernel: Kernel, product: Callable[..., Any]) -> str:
    cut = Cut((CsrMatrix, chosen.from_csr, product), GIVEN)
    return _template("loader.txt").substitute(
        kernel=name,
        summary=kernel.summary,
        title=chosen.summary,
        digest=kernel.source_hash("cuda"),
        flags=repr(FLAGS),
        imports="\n".join(cut.imports),
        definitions="\n".join(cut.definitions),
        layout=cut.call(chosen.from_csr, "matrix"),
        launch=cut.call(product, "self.layout"),
    )


def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(name).read_text(encoding="utf-8"))
