"""Results as tables: a pandas DataFrame of several jobs, and comparisons as HTML for notebooks."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from gpu_engine.errors import InputError
from gpu_engine.text import units
from gpu_engine.verdicts.differences import Difference


class Differences(list[Difference]):
    """List of comparisons in the order of their cases; notebooks show it as a table."""

    def _repr_html_(self) -> str:
        heads = ("matrix", "device", "cache", "before", "after", "verdict", "ratio", "reason")
        rows = [
            (
                d.matrix_id,
                d.device,
                d.cache,
                units.seconds(d.baseline_s),
                units.seconds(d.other_s),
                d.verdict,
                d.ratio or "–",
                d.reason,
            )
            for d in self
        ]
        lines = (_row("th", heads), *(_row("td", (_ratio(cell) for cell in row)) for row in rows))
        return f"<table>{''.join(lines)}</table>"


def frame(results: Mapping[str, Any], name_of: Callable[[str], str]) -> Any:
    """Return the measurements of jobs (id → results) as a pandas DataFrame, one row per measurement.

    Each row has the `job`, the name of the `matrix`, and one column per environment field, such as
    `environment.driver`. Raises InputError without pandas.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError("pandas is not installed. to_pandas needs it: pip install pandas.") from error
    rows: list[dict[str, Any]] = []
    for job_id, document in results.items():
        for measurement in document["measurements"]:
            row = {"job": job_id, "matrix": name_of(measurement["matrix_id"]), **measurement}
            environment = row.pop("environment", {})
            rows.append(row | {f"environment.{name}": value for name, value in environment.items()})
    return pandas.DataFrame(rows)


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _ratio(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
