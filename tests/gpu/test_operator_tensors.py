"""Tensors of PyTorch on a GPU: the tests of those of a CPU, and streams, CUDA graphs and threads."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from gpu_engine.errors import ParameterError  # noqa: E402 (what is tested needs PyTorch)
from gpu_engine.operators import Operator, operator  # noqa: E402
from tests.gpu_engine.operators.test_tensors import *  # noqa: E402, F403 (the tests, with the fixture of this module)
from tests.gpu_engine.operators.test_tensors import close, pytestmark, uniform  # noqa: E402

pytestmark = [*pytestmark, pytest.mark.usefixtures("gpu")]


@pytest.fixture  # type: ignore[no-redef]
def device() -> Iterator[str]:
    with cupy.cuda.Device(0), cupy.cuda.Stream.null:
        yield "cuda:0"


def test_products_are_ordered_by_the_stream_of_pytorch(op: Operator, dense: Any) -> None:
    x, stream = uniform(13, like=dense), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # A long way before x is ready: a product on any other stream would not see it.
        busy = torch.rand(4000, 4000, device="cuda")
        for _ in range(20):
            busy = busy @ busy.T / 4000
        y = x + 0 * busy[0, 0]
        answer = op @ (y * 3)
        event = stream.record_event()
    event.synchronize()
    close(answer, dense @ x * 3)


def test_products_and_gradients_are_captured_in_graphs(op: Operator, dense: Any) -> None:
    x, out = uniform(13, like=dense), dense.new_empty(20)
    op.matvec(x, out=out, alpha=2.0, beta=0.0)
    op @ x
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        op.matvec(x, out=out)
        answer = op @ x
    x.copy_(x * 2)
    graph.replay()
    torch.cuda.synchronize()
    close(out, dense @ x)
    close(answer, dense @ x)


def test_backward_runs_on_the_stream_of_its_forward(op: Operator, dense: Any) -> None:
    x, stream = uniform(13, like=dense, grad=True), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        (op @ x).sum().backward()
    stream.synchronize()
    close(x.grad, dense.sum(0))


def test_tensors_of_the_host_and_arrays_of_others_are_told_apart(op: Operator, dense: Any) -> None:
    x = uniform(13, like=dense)
    with pytest.raises(ParameterError, match="x lies on the host"):
        op @ x.cpu()
    host = operator(dense.cpu().to_sparse_csr())
    with pytest.raises(ParameterError, match="x lies on a GPU"):
        host @ x
    assert isinstance(op @ cupy.asarray(x), cupy.ndarray)
    out = cupy.empty(20)
    assert op.matvec(x, out=out) is out
    torch.cuda.synchronize()
    np.testing.assert_allclose(out.get(), (dense @ x).cpu().numpy())


def test_data_loaders_of_threads_multiply_at_once(op: Operator, dense: Any) -> None:
    import copy

    answers: dict[int, Any] = {}

    def work(number: int) -> None:
        own, stream = copy.copy(op), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = dense.new_full((13,), float(number))
            for _ in range(100):
                answer = own @ x
        stream.synchronize()
        answers[number] = answer

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        close(answers[number], dense.sum(1) * number)
