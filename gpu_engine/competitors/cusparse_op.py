"""cuSPARSE's SpMVOp, new in CUDA 13.1: a plan per matrix, which then multiplies."""

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpu_engine.competitors.cusparse import CusparseLayout, csr
from gpu_engine.competitors.cusparse_library import (
    NO_TRANSPOSE,
    ONE,
    REAL_64,
    VARIABLE,
    ZERO,
    LibraryObject,
    call,
    library,
    pointer,
    shared_handle,
    vector,
    version,
)
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import Format, Kernel, Launch

ALGORITHMS = {"op_alg1": 1, "op_alg2": 2}
"""Variant of the kernel → cusparseSpMVOpAlg_t."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of z := A·x + 0·y for one pair of vectors; `plan` keeps its inputs alive."""

    plan: LibraryObject
    x: LibraryObject
    y: LibraryObject
    z: LibraryObject


@dataclass(frozen=True)
class OpLayout:
    """CSR with the plans of its SpMVs."""

    csr: CusparseLayout
    plans: dict[tuple[int, int, int], Plan] = field(default_factory=dict)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the CSR arrays; the library does not report the bytes of a plan."""
        return self.csr.stored_bytes

    def to_csr(self) -> CsrMatrix:
        """Return the matrix that the layout was built from."""
        return self.csr.matrix


def _build(matrix: CsrMatrix) -> OpLayout:
    """Return the layout; raises ParameterError if the loaded library lacks SpMVOp."""
    if not hasattr(library(), "cusparseSpMVOp"):
        raise ParameterError(f"cuSPARSE {version()['cuSPARSE']} has no SpMVOp. Set {VARIABLE} to a newer library.")
    return OpLayout(csr(matrix))


def _multiply(layout: OpLayout, algorithm: int, x: Any, y: Any) -> None:
    """Compute y := A·x on the current stream; the first call creates a plan."""
    handle, key = shared_handle(), (algorithm, x.data.ptr, y.data.ptr)
    if key not in layout.plans:
        layout.plans[key] = _planned(handle, layout, algorithm, x, y)
    plan = layout.plans[key]
    call("cusparseSpMVOp", handle, plan.plan, ctypes.byref(ONE), ctypes.byref(ZERO), plan.x, plan.y, plan.z)


def _planned(handle: LibraryObject, layout: OpLayout, algorithm: int, x: Any, z: Any) -> Plan:
    import cupy

    # The library requires y of z = α·A·x + β·y even if β = 0.
    unread = cupy.zeros_like(z)
    vectors = vector(x), vector(unread), vector(z)
    product = (
        ctypes.c_int(NO_TRANSPOSE),
        layout.csr.descriptor,
        *vectors,
        ctypes.c_int(REAL_64),
        ctypes.c_int(algorithm),
    )
    size = ctypes.c_size_t()
    call("cusparseSpMVOp_bufferSize", handle, *product, ctypes.byref(size))
    workspace = cupy.empty(max(size.value, 1), dtype=cupy.uint8)
    needs = workspace, unread, layout.csr.descriptor, *vectors
    create, destroy = "cusparseSpMVOp_createDescr", "cusparseSpMVOp_destroyDescr"
    described = LibraryObject(create, destroy, *product, pointer(workspace), leading=(handle,), needs=needs)
    # No code for an epilogue.
    code = None, ctypes.c_size_t(0)
    create, destroy = "cusparseSpMVOp_createPlan", "cusparseSpMVOp_destroyPlan"
    plan = LibraryObject(create, destroy, *code, leading=(handle, described), needs=described)
    return Plan(plan, *vectors)


def _product(algorithm: int) -> Callable[[OpLayout], Launch]:
    return lambda layout: functools.partial(_multiply, layout, algorithm)


FORMAT = Format(
    "cusparse",
    "cuSPARSE SpMVOp",
    "NVIDIA's library with CSR and a plan.",
    lambda matrix: matrix.stored_bytes,
    _build,
    tuple(
        Kernel(variant, f"cuSPARSE SpMVOp, algorithm {number}.", cuda=_product(number), libraries=version)
        for variant, number in ALGORITHMS.items()
    ),
)
