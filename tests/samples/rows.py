"""Rows of the database as a dispatcher makes them."""

from collections.abc import Sequence

from gpu_engine.records import Measurement, as_json
from server.models import MeasurementRow


def measurement_row(job_id: str, m: Measurement, created_at: float, samples_s: Sequence[float] = ()) -> MeasurementRow:
    """A measurement of a job."""
    return MeasurementRow(
        job_id=job_id,
        case_key=m.case,
        matrix_id=m.matrix_id,
        device=m.device,
        kernel=m.kernel,
        cache=m.cache,
        state=m.state,
        record=as_json(m),
        samples_s=list(samples_s),
        created_at=created_at,
    )
