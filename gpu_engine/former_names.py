"""Former names of record fields, settings, and addresses, with their present names.

PRESENT translates older exported files, parameters of older clients, and saved addresses; migration
0016 translates the rows of a database with it, and back with FORMER. Translating twice changes nothing.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gpu_engine.records import Case

Names = Mapping[str, str]

OF_KERNELS = ("kernel", "kernels", "control", "reference", "strategies", "baseline")
"""Parameters whose values are names of kernels or strategies."""


class KernelPart(NamedTuple):
    """A part of the names of kernels, before and after; `follows` and `precedes` are patterns around it."""

    before: str
    after: str
    follows: str = ""
    precedes: str = ""

    def translate(self, name: str) -> str:
        """Return a name with this part translated."""
        return re.sub(f"{self.follows}{re.escape(self.before)}{self.precedes}", self.after, name)


@dataclass(frozen=True, slots=True)
class Renames:
    """A translation of names.

    fields      fields of a measurement and of its details
    arrays      arrays of a trace; phases: keys of `phases_s`
    axes        axes of cases, which are also parameters of studies; parameters: all parameters
    values      values of axes and parameters, by their translated name
    kernels     parts of the names of kernels and strategies
    sources     fields of the source of a generated matrix
    notes       texts of notes: pairs of (pattern, present text)
    """

    fields: Names
    arrays: Names
    phases: Names
    studies: Names
    axes: Names
    parameters: Names
    values: Mapping[str, Names]
    kernels: Sequence[KernelPart]
    sources: Names
    notes: Sequence[tuple[str, str]] = ()

    def kernel(self, name: str) -> str:
        """Return the translated name of a kernel or strategy."""
        for part in self.kernels:
            name = part.translate(name)
        return name

    def case_axes(self, axes: Names) -> dict[str, str]:
        """Return the translated axes of a case, in the same order."""
        return {name: self.values.get(name, {}).get(value, value) for name, value in renamed(axes, self.axes).items()}

    def note(self, text: str) -> str:
        """Return a note in the words of this release; other texts stay as they are."""
        translated = text
        for pattern, present in self.notes:
            translated = re.sub(pattern, present, translated)
        translated = re.sub(r"\d+(\.\d+)?e\+\d+", lambda number: f"{float(number[0]):.0f}", translated)
        return text if translated == text else re.sub(r"\b\d{4,}\b", lambda number: f"{int(number[0]):,}", translated)

    def key(self, key: str) -> str:
        """Return the translated key of a case, `matrix|kernel|cache|axis=value,…`."""
        if key.count("|") < 3:
            return key
        case = Case.parse(key)
        axes = tuple(self.case_axes(dict(case.axes)).items())
        return replace(case, kernel=self.kernel(case.kernel), axes=axes).key

    def study(self, name: str) -> str:
        """Return the translated name of a study."""
        return self.studies.get(name, name)

    def measurement(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a translated measurement (JSON object)."""
        record = renamed(fields, self.fields)
        for name, translated in (
            ("case", self.key),
            ("study", self.study),
            ("kernel", self.kernel),
            ("format", self.kernel),
            ("axes", self.case_axes),
            ("details", self._details),
            ("note", self.note),
        ):
            if record.get(name):
                record[name] = translated(record[name])
        return record

    def trace(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a translated trace (JSON object)."""
        trace = dict(fields)
        if "case" in trace:
            trace["case"] = self.key(trace["case"])
        if "arrays" in trace:
            trace["arrays"] = renamed(trace["arrays"], self.arrays)
        return trace

    def source(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """Return the translated source of a matrix."""
        return renamed(source, self.sources) if source.get("kind") == "generated" else dict(source)

    def recording(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a translated document of reference results; parts of an unexpected form stay as they are."""
        recording = dict(document)
        if isinstance(recording.get("study"), str):
            recording["study"] = self.study(recording["study"])
        for name, translated in (
            ("measurements", self.measurement),
            ("traces", self.trace),
            ("matrices", self._matrix),
        ):
            if isinstance(entries := recording.get(name), list | tuple):
                recording[name] = [translated(entry) if isinstance(entry, Mapping) else entry for entry in entries]
        return recording

    def parameter(self, name: str, known: Container[str]) -> str:
        """Return the translated name of a parameter if only that one is known; otherwise the name itself."""
        other = self.parameters.get(name, name)
        return other if name not in known and other in known else name

    def settings(self, values: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
        """Return parameters with translated names and values; unknown ones stay as they are."""
        names = {name: self.parameter(name, known) for name in values}
        return {names[name]: self.value(names[name], value) for name, value in values.items()}

    def value(self, name: str, value: Any) -> Any:
        """Return the translated value, or values, of a parameter."""
        if isinstance(value, str):
            return self.kernel(value) if name in OF_KERNELS else self.values.get(name, {}).get(value, value)
        if isinstance(value, list | tuple):
            return [self.value(name, each) for each in value]
        return value

    def reversed(self) -> "Renames":
        """Return the translation back to the former names."""
        return Renames(
            fields=swapped(self.fields),
            arrays=swapped(self.arrays),
            phases=swapped(self.phases),
            studies=swapped(self.studies),
            axes=swapped(self.axes),
            parameters=swapped(self.parameters),
            values={swapped(self.parameters).get(name, name): swapped(values) for name, values in self.values.items()},
            kernels=[part._replace(before=part.after, after=part.before) for part in self.kernels],
            sources=swapped(self.sources),
        )

    def _details(self, details: Any) -> Any:
        if not isinstance(details, Mapping):
            return details
        translated = renamed(details, self.fields)
        if isinstance(translated.get("phases_s"), Mapping):
            translated["phases_s"] = renamed(translated["phases_s"], self.phases)
        if isinstance(translated.get("strategy"), str):
            translated["strategy"] = self.kernel(translated["strategy"])
        return translated

    def _matrix(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        source = fields.get("source")
        return dict(fields) | ({"source": self.source(source)} if isinstance(source, Mapping) else {})


def renamed(fields: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Return the mapping with renamed keys, in the same order; keys that already have the new name stay."""
    return {
        names.get(name, name): value
        for name, value in fields.items()
        if names.get(name, name) not in fields or name not in names
    }


def swapped(names: Names) -> dict[str, str]:
    """Return the inverse mapping of names."""
    return {after: before for before, after in names.items()}


NOTE_OF_LOOPS = r"one launch per matrix, and the batch has \1 matrices (limit: \2)"

NOTES = (
    (r"needs ([\d.]+(?:e\+\d+)?) GB, ([\d.]+) GB allowed", r"needs \1 GB of memory; the limit is \2 GB"),
    (r"^The entries are no (?=dense blocks of)", "Not applicable: the nonzeros do not form "),
    (r"(small, similar|large, unequal) (and uncut|or cut)", r"\1, \2"),
    (r"cuGraph is not installed here\. (.*) The reason:", r"cuGraph is not installed. \1 Reason:"),
    (r"one launch a problem: (\d+) problems are more than (\d+), the loop_max", NOTE_OF_LOOPS),
    (r"one launch per matrix, and the batch has (\d+) matrices \(limit: loop_max=(\d+)\)", NOTE_OF_LOOPS),
    (r"(\d+) in work a group, so that the batch is large", r"\1 work units per group: the batch is large"),
    (
        r"(\d+) in work a group, so that each of (\d+) processors has (\d+)",
        r"\1 work units per group: \3 blocks per multiprocessor (\2)",
    ),
    (
        r"(\d+) threads a block[,] for problems are heavy, unlike or cut",
        r"\1 threads per block: matrices are large, unequal, or cut",
    ),
    (
        r"(\d+) threads a block[,] for problems are light, alike and whole",
        r"\1 threads per block: matrices are small, similar, and uncut",
    ),
    (r"The largest start first\.", "Largest groups start first."),
    (
        r"Of (\d+) entries (\d+) columns and (\d+) values are stored\.",
        r"Deduplication stores \2 columns and \3 values for \1 nonzeros.",
    ),
)
"""Patterns of former notes, and what they say in this release."""

AXES = {
    "part": "triangle",
    "first": "start_segments",
    "near": "raise_at",
    "stall": "stall_ratio",
    "at_end": "final_storage",
    "work": "workload",
    "cut": "balance",
    "product": "kernel_library",
}

PRESENT = Renames(
    fields={
        "floor_s": "roofline_s",
        "gather_floor_s": "gather_probe_s",
        "reference_gap": "aa_gap",
        "same_bits": "bitwise_reproducible",
        "same_layout": "reproducible_rebuild",
        "order_s": "reorder_s",
        "overlap": "top_k_agreement",
        "overlap_slack": "top_k_slack",
        "problems": "batch_size",
        "entries_by_device": "nonzeros_by_device",
    },
    arrays={"settle_s": "norm_s"},
    phases={"settle": "norm"},
    studies={"products": "reduced_spmv"},
    axes=AXES,
    parameters=AXES
    | {
        "budget_s": "time_limit_s",
        "reference": "control",
        "contestants": "custom_kernels",
        "order": "reorder",
        "cold_cut": "cold_balance",
    },
    values={
        "sampling": {"settle": "adaptive", "full": "fixed"},
        "energy": {"leaders": "fastest"},
        "reorder": {"given": "none"},
        "balance": {"entries": "nonzeros", "lines": "rows"},
        "cold_balance": {"lines": "rows"},
        "exchange": {"image": "halo"},
        "kernel_library": {"ours": "sparsight"},
        "compose": {"copies": "uniform"},
    },
    kernels=(
        KernelPart("+free", "+pattern", precedes=r"\b"),
        KernelPart("+refined", "+ir", precedes="(?=32|64)"),
        KernelPart("own:", "custom:", follows="^"),
        KernelPart("p*-kept", "p*-prepacked", precedes="$"),
    ),
    sources={"family": "generator"},
    notes=NOTES,
)
"""Translation of former names to those of this release."""

FORMER = PRESENT.reversed()
"""Translation back to the former names."""
