"""Weak scaling: similar matrices that grow with the number of devices, at constant nonzeros per device."""

from collections.abc import Iterator

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.scaling.cases import ONCE, STAYING
from gpu_engine.findings.scaling.groups import WorkGroup, work_groups
from gpu_engine.findings.scaling.series import Series
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

ALIKE = 0.1
"""Relative difference of nonzeros per device, and of mean row lengths, up to which two matrices match."""

HEADS = (
    Head("time per", numeric=False),
    Head("device", numeric=False),
    Head("kernel", numeric=False),
    Head("devices"),
    Head("matrix", numeric=False),
    Head("nonzeros", "per device"),
    Head("time", "median"),
    Head("on one device", numeric=False),
    Head("weak efficiency"),
)


def weak_scaling(data: StudyData) -> Table:
    """Return a table with one row per matrix on several devices that has a matching matrix on one device.

    Different matrices were sampled in separate rounds, so the efficiency has no verdict.
    """
    groups = work_groups(data, STAYING)
    return Table(HEADS, tuple(row for group in groups for series in group.series for row in _rows(group, series, data)))


def _rows(group: WorkGroup, series: Series, data: StudyData) -> Iterator[tuple[str, ...]]:
    for m in series.ranked:
        devices = m.details.devices or 1
        single = _on_one_device(group, series, m, data) if devices > 1 else None
        if single is not None and m.median_s:
            yield (
                ONCE[group.work],
                group.machine,
                series.label,
                units.count(devices),
                data.matrix(group.matrix_id).name,
                units.count(_nonzeros_per_device(m)),
                units.seconds(m.median_s),
                f"{data.matrix(single.matrix_id).name}, {units.seconds(single.median_s)}",
                units.percent((single.median_s or 0.0) / m.median_s),
            )


def _on_one_device(group: WorkGroup, series: Series, m: Measurement, data: StudyData) -> Measurement | None:
    """Return the run on one device, by the same kernel and options, of the best-matching other matrix."""
    candidates = [
        other
        for each in work_groups(data, (group.work,))
        if (each.device, each.cache, each.partitioning) == (group.device, group.cache, group.partitioning)
        for other_series in each.series
        if (other_series.kernel, other_series.options) == (series.kernel, series.options)
        and (other := other_series.on(1)) is not None
        and other.matrix_id != m.matrix_id
        and _near(_nonzeros_per_device(other), _nonzeros_per_device(m))
        and _generator(data.matrix(other.matrix_id)) == _generator(data.matrix(m.matrix_id))
        and _near(_mean_length(data.matrix(other.matrix_id)), _mean_length(data.matrix(m.matrix_id)))
    ]
    return min(candidates, key=lambda other: abs(_nonzeros_per_device(other) - _nonzeros_per_device(m)), default=None)


def _nonzeros_per_device(m: Measurement) -> int:
    """Return the mean number of nonzeros per partition."""
    nonzeros: tuple[int, ...] = m.details.nonzeros_by_device
    return sum(nonzeros) // max(len(nonzeros), 1)


def _generator(matrix: MatrixFeatures) -> str:
    """Return the generator of a matrix; empty for others."""
    return str(matrix.source.get("generator", ""))


def _mean_length(matrix: MatrixFeatures) -> float | None:
    """Return the mean row length, also of a matrix without features, such as one that the devices generate."""
    return matrix.nnz / matrix.n_rows if matrix.ave is None and matrix.n_rows else matrix.ave


def _near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= ALIKE * max(one, other)
