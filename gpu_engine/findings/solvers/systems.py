"""Text of the system that a solve is about: its matrix, b, the first x, and the restart of GMRES."""

from collections.abc import Mapping

from gpu_engine.solvers.gmres import RESTART
from gpu_engine.text.axes import axis_text

EXCESS, SEED = 1e-3, 0
"""Excess of the diagonal and seed of b, unless the parameters of the study say otherwise."""

RIGHT_HAND_SIDES = {"random": "random b in [−1, 1]", "ones": "b of ones", "point": "b of one nonzero"}
"""Value of the axis `b` → its text."""


def system_texts(axes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of the axes of a system that differ from the default, the changed matrix with its excess."""
    system = axes.get("system")
    others = (axis_text(name, axes[name]) for name in ("b", "seed") if name in axes)
    return (*(() if system is None else (f"made {system} (excess {excess_of(axes)})",)), *others)


def matrix_text(axes: Mapping[str, str]) -> str:
    """Return how the matrix was changed: `made definite: diagonal 1.001 × the other magnitudes of its row`."""
    system = axes.get("system")
    if system is None:
        return "matrix as it is"
    return f"made {system}: diagonal {1 + float(excess_of(axes)):g} × the sum of the other magnitudes of its row"


def excess_of(axes: Mapping[str, str]) -> str:
    """Return the excess of the diagonal."""
    return axes.get("excess", f"{EXCESS:g}")


def conditions_text(axes: Mapping[str, str], cycles: bool) -> str:
    """Return b, the first x, and the restart: `random b in [−1, 1] (seed 0), x₀ = 0, …`.

    cycles  whether GMRES is among the methods
    """
    b = axes.get("b", "random")
    seed = f" (seed {axes.get('seed', SEED)})" if b == "random" else ""
    restart = (f"GMRES restarts after {axes.get('restart', RESTART)} iterations",) if cycles else ()
    return ", ".join((f"{RIGHT_HAND_SIDES.get(b, b)}{seed}", "x₀ = 0", *restart))
