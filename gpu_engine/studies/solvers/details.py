"""SolverDetails: the fields that only measurements of the study `solvers` have."""

from dataclasses import dataclass
from typing import ClassVar

from gpu_engine.records import Details, described


@dataclass(frozen=True, slots=True)
class SolverDetails(Details):
    """Fields specific to measurements of the study `solvers`."""

    study: ClassVar[str] = "solvers"

    iterations: int | None = described("Iterations of the solve.", None)
    spmvs: int | None = described(
        "SpMVs of the solve, with those of a polynomial preconditioner and without those of true residuals.", None
    )
    spmv_s: float | None = described(
        "Seconds of one SpMV with the same layout, back to back in the same rounds; null for a library.", None
    )
    iteration_roofline_s: float | None = described(
        "Seconds: bytes of an iteration (layouts and vectors) / copy bandwidth, without the preconditioner.", None
    )
    convert_s: float | None = described(
        "Seconds of the one-time conversion from CSR on this device, warmed up: median of up to five.", None
    )
    convert_peak_bytes: int | None = described("Peak memory of that conversion, in bytes.", None)
    setup_s: float | None = described(
        "Seconds to compute the preconditioner, warmed up: median of up to five; 0 without one.", None
    )
    residual: float | None = described(
        "‖b − A·x‖ / ‖b‖ of the solution, computed on the host in twice the precision.", None
    )
    tolerance: float | None = described(
        "Tolerance that the library was given, so that this residual meets rtol; null for Sparsight kernels.", None
    )
    replacements: int | None = described(
        "Times that the recurrence continued from the true residual; null for a library.", None
    )
