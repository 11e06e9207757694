"""Tensors of PyTorch: products, gradients of any order, torch.func and torch.compile; tests/gpu runs them on a GPU."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.errors import ParameterError
from gpu_engine.operators import Operator, operator

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# PyTorch's own: it scripts its decompositions, and says that its sparse tensors are young.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`?torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sparse:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
]

MATRIX: Any = scipy.sparse.random_array((20, 13), density=0.3, format="csr", rng=np.random.default_rng(0))
DENSE = MATRIX.toarray()


@pytest.fixture
def device() -> str:
    return "cpu"


@pytest.fixture
def dense(device: str) -> Any:
    return torch.tensor(DENSE, device=device)


@pytest.fixture
def op(dense: Any) -> Operator:
    return operator(dense.to_sparse_csr(), kernel="split/tile")


def uniform(*shape: int, like: Any, dtype: Any = torch.float64, grad: bool = False) -> Any:
    generator = torch.Generator(device=like.device).manual_seed(1)
    return torch.rand(shape, dtype=dtype, device=like.device, generator=generator).requires_grad_(grad)


def close(answer: Any, expected: Any) -> None:
    torch.testing.assert_close(answer, expected, check_dtype=False, rtol=1e-9, atol=1e-9)


DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex128", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(13,), (13, 1), (13, 3)])
def test_tensors_of_any_number_are_answered_in_double_precision(
    op: Operator, dense: Any, dtype: str, shape: tuple[int, ...]
) -> None:
    x = (4 * uniform(*shape, like=dense)).to(getattr(torch, dtype))
    exact = x.to(torch.complex128 if x.is_complex() else torch.float64)
    answer = op @ x
    assert (type(answer), answer.dtype, answer.device) == (torch.Tensor, exact.dtype, dense.device)
    close(answer, dense.to(exact.dtype) @ exact)
    close(op.T @ answer, dense.T.to(exact.dtype) @ answer)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "strided": lambda x: x.repeat_interleave(2)[::2],
    "expanded": lambda x: x[:1].expand(13),
    "conjugate": lambda x: (x + 1j * x.flip(0)).conj(),
    "negative": lambda x: (x + 1j * x.flip(0)).conj().imag,
    "transposed": lambda x: x.expand(4, 13).T,
    "without columns": lambda x: x.new_empty((13, 0)),
    "parameter": torch.nn.Parameter,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_multiplied_as_what_they_show(op: Operator, dense: Any, name: str) -> None:
    x = VIEWS[name](uniform(13, like=dense))
    close(op @ x, dense.to(x.dtype) @ x)


GRADIENTS: dict[str, tuple[int | tuple[int, int], Callable[[Operator, Any], Any]]] = {
    "product": (13, lambda op, x: op @ x),
    "column": ((13, 1), lambda op, x: op.matvec(x)),
    "columns": ((13, 3), lambda op, x: op @ x),
    "matmat": ((13, 2), lambda op, x: op.matmat(x)),
    "transpose": (20, lambda op, x: op.T @ x),
    "from the left": (20, lambda op, x: x @ op),
    "rmatvec": (20, lambda op, x: op.rmatvec(x)),
    "rmatmat": ((20, 2), lambda op, x: op.rmatmat(x)),
    "scaled": (13, lambda op, x: op.matvec(x, alpha=-2.5)),
    "complex scale": (13, lambda op, x: op.matvec(x, alpha=1 - 2j)),
    "zero scale": (13, lambda op, x: op.matvec(x, alpha=0.0)),
    "in a formula": (13, lambda op, x: torch.sin(op @ (x * x))),
    "twice": (13, lambda op, x: op.T @ (op @ x)),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(op: Operator, dense: Any, name: str, dtype: Any) -> None:
    shape, call = GRADIENTS[name]
    x = uniform(*(shape if isinstance(shape, tuple) else (shape,)), like=dense, dtype=dtype, grad=True)
    check = {"nondet_tol": 1e-12, "check_forward_ad": True}
    assert torch.autograd.gradcheck(lambda v: call(op, v), (x,), **check)
    assert torch.autograd.gradgradcheck(lambda v: call(op, v), (x,), nondet_tol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_gradient_has_the_dtype_of_x(op: Operator, dense: Any, dtype: Any) -> None:
    x = uniform(13, like=dense, dtype=dtype, grad=True)
    (op @ x).sum().backward()
    assert x.grad.dtype == dtype
    torch.testing.assert_close(x.grad, dense.sum(0).to(dtype))


def test_no_gradient_is_kept_where_none_is_wanted(op: Operator, dense: Any) -> None:
    x = uniform(13, like=dense, grad=True)
    with torch.no_grad():
        assert not (op @ x).requires_grad
    with torch.inference_mode():
        close(op @ x, dense @ x.detach())
    assert (op @ x).requires_grad
    assert not (op @ x.detach()).requires_grad


def test_transforms_of_functions_see_the_product(op: Operator, dense: Any) -> None:
    from torch import func

    x, batch = uniform(13, like=dense), uniform(7, 13, like=dense)
    for jacobian in (func.jacrev, func.jacfwd):
        close(jacobian(lambda v: op @ v)(x), dense)
    close(func.hessian(lambda v: ((op @ v) ** 2).sum())(x), 2 * dense.T @ dense)
    close(func.vmap(lambda v: op @ v)(batch), batch @ dense.T)
    close(func.vmap(lambda v: op @ v, in_dims=1)(batch.T), batch @ dense.T)
    close(func.vmap(func.vmap(lambda v: op @ v))(batch.expand(2, 7, 13)), (batch @ dense.T).expand(2, 7, 20))
    matrices = uniform(5, 13, 2, like=dense)
    close(func.vmap(lambda v: op @ v)(matrices), dense @ matrices)
    close(func.vmap(func.grad(lambda v: ((op @ v) ** 2).sum()))(batch), 2 * (batch @ dense.T) @ dense)
    close(func.jvp(lambda v: op @ v, (x,), (x,))[1], dense @ x)
    close(torch.autograd.functional.jacobian(lambda v: op @ v, x), dense)


def test_out_is_written_unless_a_gradient_is_wanted(op: Operator, dense: Any) -> None:
    x, out = uniform(13, like=dense), dense.new_full((20,), float("nan"))
    assert op.matvec(x, out=out) is out
    close(out, dense @ x)
    op.matvec(x, out=out, alpha=2.0, beta=-1.0)
    close(out, dense @ x)
    column = dense.new_empty((20, 1))
    assert op.matvec(x[:, None], out=column) is column
    close(column[:, 0], dense @ x)
    both = torch.empty(20, dtype=torch.complex128, device=dense.device)
    close(op.matvec(x, out=both, alpha=1j), 1j * (dense @ x))
    wanted = x.clone().requires_grad_()
    with torch.no_grad():
        op.matvec(wanted, out=out)
    close(out, dense @ x)
    for options in ({"x": wanted, "out": out}, {"x": x, "out": dense.new_empty(20).requires_grad_()}):
        with pytest.raises(ParameterError, match="no_grad"):
            op.matvec(**options)


def test_what_is_no_vector_is_refused_before_anything_is_written(op: Operator, dense: Any) -> None:
    x, out = uniform(13, like=dense), dense.new_ones(20)
    for options in (
        {"x": x.to_sparse()},
        {"x": x.to("meta")},
        {"x": x[:12]},
        {"x": x[None]},
        {"x": torch.full((13,), 2**53 + 1, device=dense.device)},
        {"x": x, "beta": 1.0},
        {"x": x, "out": out, "alpha": 1j},
        {"x": x + 1j, "out": out},
        {"x": x, "out": out.float()},
        {"x": x, "out": out[:13]},
        {"x": x, "out": out.expand(2, 20).T[:, 0].repeat_interleave(2)[::2]},
        {"x": x, "out": torch.ones(20, dtype=torch.complex128, device=dense.device).conj()},
        {"x": out[:13], "out": out},
    ):
        with pytest.raises(ParameterError):
            op.matvec(**options)
    close(out, dense.new_ones(20))


@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_sparse_csc", "to_sparse"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_sparse_tensors_become_operators(dense: Any, layout: str, dtype: str) -> None:
    matrix = getattr(dense.to(getattr(torch, dtype)), layout)()
    x = uniform(13, like=dense)
    close(operator(matrix) @ x, matrix.to_dense().double() @ x)


def test_tensors_that_are_no_matrix_are_refused(dense: Any) -> None:
    for matrix in (
        dense,
        dense.to_sparse_bsr((1, 1)),
        dense.to_sparse_csr().requires_grad_(),
        (dense + 1j).to_sparse_csr(),
        dense.expand(2, 20, 13).to_sparse_csr(),
    ):
        with pytest.raises(ParameterError):
            operator(matrix)


class Layer(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module that multiplies by a matrix and by its transpose."""

    def __init__(self, op: Operator, weight: Any) -> None:
        super().__init__()
        self.A, self.weight = op, torch.nn.Parameter(weight)

    def forward(self, y: Any) -> Any:
        return torch.sin(self.A @ self.weight) * y + (y @ self.A) @ self.weight


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_code_multiplies_and_has_gradients(op: Operator, dense: Any, backend: str) -> None:
    torch._dynamo.reset()
    weight, y = uniform(13, like=dense), uniform(20, like=dense)
    layer = Layer(op, weight.clone())
    answer = torch.compile(layer, backend=backend)(y)
    wanted = weight.clone().requires_grad_()
    expected = torch.sin(dense @ wanted) * y + (y @ dense) @ wanted
    close(answer, expected)
    answer.sum().backward()
    expected.sum().backward()
    close(layer.weight.grad, wanted.grad)
    scaled = torch.compile(lambda v: op.matvec(v * 2, alpha=2.0) + 1, backend=backend)
    close(scaled(weight), 4 * (dense @ weight) + 1)


def test_copies_of_a_module_multiply(op: Operator, dense: Any) -> None:
    y = uniform(20, like=dense)
    layer = Layer(op, uniform(13, like=dense))
    for duplicate in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        close(duplicate(y), layer(y))


def test_a_thread_of_the_program_multiplies(op: Operator, dense: Any) -> None:
    x, answers = uniform(13, like=dense, grad=True), []
    expected = dense @ x.detach()

    def work() -> None:
        answer = op @ x
        answer.sum().backward()
        answers.append(answer.detach().cpu())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    close(answers[0], expected.cpu())
    close(x.grad, dense.sum(0))


def test_training_finds_the_solution(op: Operator, dense: Any) -> None:
    wanted = uniform(13, like=dense)
    b, x = dense @ wanted, dense.new_zeros(13).requires_grad_()
    optimizer = torch.optim.LBFGS([x], max_iter=200, tolerance_grad=1e-14, tolerance_change=1e-16)

    def loss() -> Any:
        optimizer.zero_grad()
        value = ((op @ x - b) ** 2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    torch.testing.assert_close(x.detach(), wanted, rtol=1e-4, atol=1e-4)
