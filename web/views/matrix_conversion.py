"""Forecast of the conversions of a matrix on a GPU, from the reference results of that GPU model."""

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import Gpu, gpu_named
from gpu_engine.findings.formats.conversion_forecast import ConversionForecast, conversion_forecasts
from gpu_engine.findings.formats.groups import of_matrices
from server import recorded_results
from server.models import MatrixRow
from web.results import device_names
from web.studies.formats import FORMATS


def forecasts_for(session: Session, gpu: Gpu, row: MatrixRow) -> Mapping[str, ConversionForecast]:
    """Return the forecast of each kernel; empty without reference results of the GPU model."""
    names = device_names(session)
    recorded = recorded_results.device_ids(session, FORMATS.name)
    device = next((each for each in recorded if gpu_named(names.get(each, "")) == gpu), None)
    if device is None:
        return {}
    matrices = recorded_results.matrix_ids(session, FORMATS.name, (device,))
    rows = session.execute(select(MatrixRow.id, MatrixRow.nnz).where(MatrixRow.id.in_(matrices)))
    sizes = {matrix_id: nnz for matrix_id, nnz in rows if matrix_id != row.id}
    measured = recorded_results.measurements(session, FORMATS.name, tuple(sizes), (device,))
    return conversion_forecasts((m for m in of_matrices(measured) if m.cache == "warm"), sizes, row.nnz)
