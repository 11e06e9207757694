"""LIBRARY_CALLS: `A @ x` of other libraries as users write it, including all work of the library per call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError

Call = Callable[[], Any]
"""Call of one SpMV or SpMM; it returns a new array of the library, or the given output array."""


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """The SpMV or SpMM of a library as users write it.

    bind      (CSR, x or row-major X) on one device → the call, with the matrix already built; it launches on CuPy's
              current stream
    versions  function that returns library name → version
    """

    name: str
    written: str
    backends: tuple[str, ...]
    bind: Callable[[CsrMatrix, Any], Call]
    versions: Callable[[], Mapping[str, str]]


def installed(module: str, library: str, package: str) -> Any:
    """Return an imported module; raises ParameterError if the library is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ParameterError(f"{library} is not installed ({error}). Install it: pip install {package}.") from None


def _scipy(matrix: CsrMatrix, x: Any) -> Call:
    scipy_matrix = matrix.to_scipy()
    return lambda: scipy_matrix @ x


def cupyx_matrix(matrix: CsrMatrix) -> Any:
    """Return a device matrix as a matrix of cupyx.scipy.sparse that shares its arrays."""
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix((matrix.values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _cupy(matrix: CsrMatrix, x: Any) -> Call:
    cupy_matrix = cupyx_matrix(matrix)
    return lambda: cupy_matrix @ x


def _torch(matrix: CsrMatrix, x: Any) -> Call:
    torch = installed("torch", "PyTorch", "torch")
    if hasattr(x, "__cuda_array_interface__"):
        import cupy

        torch.cuda.set_stream(torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr))
    arrays = (torch.from_dlpack(array) for array in (matrix.indptr, matrix.indices, matrix.values))
    tensor = torch.sparse_csr_tensor(*arrays, size=matrix.shape, check_invariants=True)
    vector = torch.from_dlpack(x)
    return lambda: tensor @ vector


def _nvmath(matrix: CsrMatrix, x: Any) -> Call:
    sparse = installed("nvmath.sparse", "nvmath-python", "nvmath-python[cu13]")
    import cupy

    product = sparse.Matmul(cupyx_matrix(matrix), x, cupy.zeros((matrix.n_rows, *x.shape[1:])), alpha=1.0, beta=0.0)
    product.plan()
    call: Call = product.execute
    return call


def _version(module: str, library: str) -> Callable[[], Mapping[str, str]]:
    return lambda: {library: str(import_module(module).__version__)}


LIBRARY_CALLS: tuple[LibraryCall, ...] = (
    LibraryCall("scipy", "A @ x", ("cpu",), _scipy, lambda: {"SciPy": scipy.__version__}),
    LibraryCall("cupy", "A @ x", ("cuda",), _cupy, _version("cupy", "CuPy")),
    LibraryCall("torch", "A @ x", ("cpu", "cuda"), _torch, _version("torch", "PyTorch")),
    LibraryCall("nvmath", "Matmul(A, x, y).execute()", ("cuda",), _nvmath, _version("nvmath", "nvmath-python")),
)
