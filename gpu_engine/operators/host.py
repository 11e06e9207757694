"""HostOperator: an operator on the host, a LinearOperator of SciPy."""

from scipy.sparse.linalg import LinearOperator

from gpu_engine.operators.linear import Operator


class HostOperator(Operator, LinearOperator):  # type: ignore[misc]
    """A matrix on the host, for the solvers of scipy.sparse.linalg."""

    linear = LinearOperator
