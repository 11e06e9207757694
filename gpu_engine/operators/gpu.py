"""DeviceOperator: an operator on a GPU, a LinearOperator of CuPy, which must be installed."""

from cupyx.scipy.sparse.linalg import LinearOperator

from gpu_engine.operators.linear import Operator


class DeviceOperator(Operator, LinearOperator):  # type: ignore[misc]
    """A matrix on a GPU, for the solvers of cupyx.scipy.sparse.linalg."""

    linear = LinearOperator
