"""SpMV of PyTorch tensors on its current stream, in its memory, with gradients. Imported with the first tensor."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.autograd import forward_ad

from gpu_engine.errors import ParameterError
from gpu_engine.operators.vectors import DeviceVectors


def _multiply(operator: Any, x: Any, out: Any, alpha: complex, beta: complex, has_columns: bool) -> Any:
    """Return y := α·A·x + β·out for a tensor x; without `out` a new tensor, through which gradients of any order flow.

    Raises ParameterError as `Operator.matvec` does.
    """
    if x.layout is not torch.strided:
        raise ParameterError("x is a sparse tensor, but operators multiply only dense tensors. Pass x.to_dense().")
    if out is None:
        if beta:
            raise ParameterError("beta requires out=.")
        # The dtype changes before the product, so that the gradient has the dtype of x.
        if x.dtype is not torch.float64:
            x = x.to(_dtype(x))
        make = _new if _is_plain(x) else _Product.apply
        return make(x, operator, alpha, has_columns)
    tensors = [tensor for tensor in (x, out) if isinstance(tensor, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise ParameterError("An SpMV with out= has no gradient. Omit out=, or call it under torch.no_grad().")
    if any(tensor.is_conj() or tensor.is_neg() for tensor in tensors[1:]):
        raise ParameterError("out is a conjugate or negative view. Pass the tensor behind it, or omit out=.")
    _run(operator, x, out, alpha, beta, has_columns)
    return out


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """Autograd function of α·A·x; its gradient is conj(α)·Aᵀ·g, because A is real."""

    @staticmethod
    def forward(x: Any, operator: Any, alpha: complex, has_columns: bool) -> Any:
        return _new(x, operator, alpha, has_columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004 (PyTorch's signature)
        x, ctx.operator, ctx.alpha, ctx.has_columns = inputs
        ctx.is_complex = x.is_complex()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        product = _Product.apply(gradients[0], ctx.operator.T, ctx.alpha.conjugate(), ctx.has_columns)
        return product if ctx.is_complex or not product.is_complex() else product.real, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return _Product.apply(tangents[0], ctx.operator, ctx.alpha, ctx.has_columns)

    @staticmethod
    def vmap(_info: Any, in_dims: tuple[Any, ...], x: Any, operator: Any, alpha: complex, _has_columns: bool) -> Any:
        """Multiply all vectors of the batch as the columns of one matrix."""
        batch = x.movedim(in_dims[0], 1)
        product = _Product.apply(batch.reshape(batch.shape[0], -1), operator, alpha, True)
        return product.reshape(product.shape[0], *batch.shape[1:]), 1


def _is_plain(x: Any) -> bool:
    """Return whether PyTorch does not track x: no gradient, no tangent, and no transform of torch.func."""
    if type(x) is not torch.Tensor or (x.requires_grad and torch.is_grad_enabled()):
        return False
    try:
        x.data_ptr()
    except RuntimeError:
        # A tensor of a transform stands for others and has no memory of its own.
        return False
    return forward_ad.unpack_dual(x).tangent is None


def _dtype(x: Any) -> Any:
    """Return the dtype for the SpMV; 64-bit integers stay, so that their values can be checked."""
    if x.dtype in (torch.int64, torch.uint64):
        return x.dtype
    return torch.complex128 if x.is_complex() else torch.float64


def _new(x: Any, operator: Any, alpha: complex, has_columns: bool) -> Any:
    """Return the result in memory of PyTorch, which its streams and graphs track."""
    is_complex = x.is_complex() or isinstance(alpha, complex)
    dtype = torch.complex128 if is_complex else torch.float64
    y = torch.empty((operator.shape[0], *x.shape[1:]), dtype=dtype, device=x.device)
    _run(operator, x, y, alpha, 0.0, has_columns)
    return y


def _run(operator: Any, x: Any, y: Any, alpha: complex, beta: complex, has_columns: bool) -> None:
    """Compute y := α·A·x + β·y on the current stream of PyTorch."""
    vectors, stream = operator.vectors, None
    with vectors.guard() or nullcontext():
        if isinstance(vectors, DeviceVectors):
            stream = vectors.on_stream(torch.cuda.current_stream(vectors.ordinal).cuda_stream)
        with stream or nullcontext():
            target = _memory(y.detach() if y.requires_grad else y) if isinstance(y, torch.Tensor) else y
            operator.run(_array(x), target, alpha, beta, has_columns)


def solved(operator: Any, b: Any, solve: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return (x, info) of a solve of a tensor b, on the current stream of PyTorch; x is a tensor without gradient.

    Raises ParameterError if b requires a gradient, which a solve does not have.
    """
    if b.requires_grad and torch.is_grad_enabled():
        raise ParameterError("A solve has no gradient. Call it under torch.no_grad(), or pass b.detach().")
    vectors, stream = operator.vectors, None
    with vectors.guard() or nullcontext():
        if isinstance(vectors, DeviceVectors):
            stream = vectors.on_stream(torch.cuda.current_stream(vectors.ordinal).cuda_stream)
        with stream or nullcontext():
            x, info = solve(vectors.native(_array(b), "b"))
    return vectors.answer(x, b), info


def _array(x: Any) -> Any:
    """Return a tensor for NumPy and CuPy: without gradient, with negations and conjugates applied."""
    if x.is_conj() or x.is_neg():
        x = x.resolve_conj().resolve_neg()
    if x.requires_grad:
        x = x.detach()
    return x.numpy() if x.is_cpu else _memory(x)


def _memory(tensor: Any) -> Any:
    """Return a plain tensor as a CuPy array, in a fraction of the time of DLPack; other tensors as they are."""
    if not (tensor.is_cuda and tensor.dtype is torch.float64 and tensor.is_contiguous() and tensor.numel()):
        return tensor
    import cupy

    memory = cupy.cuda.UnownedMemory(tensor.data_ptr(), tensor.nbytes, tensor, tensor.device.index)
    return cupy.ndarray(tuple(tensor.shape), float, cupy.cuda.MemoryPointer(memory, 0))


multiply = torch.compiler.disable(_multiply)
"""SpMV of tensors, which torch.compile does not trace: it splits the graph there."""

untraced: Callable[[Callable[[], Any]], Any] = torch.compiler.disable(lambda work: work())
"""Function that calls its argument without tracing by torch.compile."""
