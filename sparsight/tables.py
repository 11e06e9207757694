"""Results as tables: a DataFrame of many jobs, and differences as notebooks show them."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from gpu_engine.errors import InputError
from gpu_engine.text import units
from gpu_engine.verdicts.differences import Difference


class Differences(list[Difference]):
    """Differences in the order of their cases; a notebook shows them as a table."""

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
    """The measurements of jobs (id → results) as a pandas DataFrame, one row each; raises InputError without pandas.

    Each row has the `job` and the name of its `matrix`, and its environment in columns of their own,
    `environment.driver` and the like.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError("to_pandas needs pandas: pip install pandas.") from error
    rows: list[dict[str, Any]] = []
    for job_id, document in results.items():
        for measurement in document["measurements"]:
            named = {"job": job_id, "matrix": name_of(measurement["matrix_id"]), **measurement}
            environment = named.pop("environment", {})
            rows.append(named | {f"environment.{name}": value for name, value in environment.items()})
    return pandas.DataFrame(rows)


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _ratio(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
