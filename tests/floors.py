"""FLOORS: the rooms of each package from the ground up; who imports whom, and where that goes up or round."""

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent

FLOORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gpu_engine": (
        ("errors", "rounds"),
        ("csr_matrix", "records", "text"),
        ("former_names",),
        ("parameters",),
        ("generators", "host", "matrices"),
        ("__init__", "cuda", "matrix_io"),
        ("formats", "measure"),
        ("advisor", "cpms", "solvers", "spmm", "standalone", "verdicts", "verify"),
        ("batched", "custom_kernels", "sampling"),
        ("contestants", "operators", "pagerank"),
        ("competitors",),
        ("multigpu",),
        ("findings",),
        ("studies",),
        ("kernel_sources", "recordings"),
        ("gpu_bench",),
        ("ab",),
        ("__main__",),
    ),
    "web": (
        ("document_groups", "script_bundle"),
        (
            "assets",
            "device_labels",
            "download",
            "single_flight",
            "kernel_markup",
            "palette",
            "pictures",
            "reference",
            "setting_labels",
            "snippets",
        ),
        ("sorting", "dot_plots", "figure_svg", "plots"),
        ("over_n",),
        ("figures", "headline", "race", "components", "selection", "thumbnails"),
        (
            *("documents", "explore", "forms", "home_contexts", "kernel_matrix_table", "latex", "problem_hints"),
            *("results", "share"),
        ),
        ("files", "job_contexts", "provenance", "service_contexts", "studies", "glossary_help"),
        ("chosen_devices", "histories", "kernels", "matrix_contexts", "page_cache", "papers", "recorded"),
        ("contexts", "figure_sources", "places"),
        ("api", "rendering"),
        ("views",),
        ("form_actions",),
        ("error_pages",),
        ("study_routes",),
        ("pages",),
        ("__init__",),
    ),
    "server": (
        (
            "connection",
            "db",
            "disk",
            "logs",
            "metric_values",
            "models",
            "outage",
            "paging",
            "health_probe",
            "processes",
            "rate_limit",
            "responses",
        ),
        ("result_documents", "roles", "session_cookie", "store", "timestamps", "turns", "upload"),
        ("documents", "events", "fork_server", "history_documents", "matrix_file", "head_requests", "quotas"),
        ("results", "settings", "tokens"),
        (
            "access",
            "custom_kernels",
            "engine_faults",
            "errors",
            "examples",
            "private_folders",
            "former_addresses",
            "histories",
            "sandbox",
            "worker_command",
        ),
        ("devices", "guard", "ingest", "body_limit", "openapi"),
        ("audit", "collection", "export_recording", "metrics", "migrate", "predictors", "recorded_results"),
        ("backup", "catalogue", "deps", "device_order"),
        ("jobs", "matrix_sets", "restore"),
        ("matrix_lifecycle", "result_sources", "service_check"),
        ("first_start", "named_matrices", "retention"),
        ("import_recordings",),
        ("routes",),
        ("main", "__init__"),
    ),
}
"""A room is a folder or a module of a package. It imports rooms of lower floors alone; `__init__` is what the package
itself defines.
"""

Arrows = Mapping[str, Collection[str]]
"""Who imports whom."""


def modules(package: str) -> dict[str, Path]:
    """Return the modules of a package by their dotted names."""
    files = (path for path in sorted((ROOT / package).rglob("*.py")))
    return {".".join(_parts(path)): path for path in files}


def arrows(package: str) -> dict[str, set[str]]:
    """Return the modules of the package that each one imports anywhere in its text, for types too."""
    known = modules(package)
    return {name: set(imports_of(path, known)) - {name} for name, path in known.items()}


def rooms(package: str, between: Arrows) -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    imported: dict[str, set[str]] = {room_of(name): set() for name in between}
    for name, targets in between.items():
        imported[room_of(name)] |= {room_of(target) for target in targets} - {room_of(name)}
    return imported


def room_of(module: str) -> str:
    """Return the room of a module: `studies` of `gpu_engine.studies.formats`."""
    return (*module.split("."), "__init__")[1]


def circles(between: Arrows) -> list[list[str]]:
    """Return the groups in which each imports itself by way of the others."""
    reached = {name: _reached(name, between) for name in between}
    groups = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in between if a in reached[a]}
    return [list(group) for group in sorted(groups)]


def upward(package: str, between: Arrows) -> list[str]:
    """Return the imports that do not go down, `a.b -> a.c`, and the rooms on no floor with where they could stand."""
    floor = {room: number for number, floor in enumerate(FLOORS[package]) for room in floor}
    imported = rooms(package, between)
    homeless = {room for room in imported if room not in floor}
    climbs = [
        f"{name} -> {target}"
        for name, targets in between.items()
        for target in sorted(targets)
        if room_of(name) != room_of(target)
        and not {room_of(name), room_of(target)} & homeless
        and floor[room_of(target)] >= floor[room_of(name)]
    ]
    lowest = {r: 1 + max((floor.get(t, 0) for t in imported[r]), default=-1) for r in homeless}
    return climbs + [f"{room} could stand on floor {lowest[room]}" for room in sorted(homeless)]


def imports_of(path: Path, known: Collection[str]) -> Iterator[str]:
    """Yield what a module imports: of `from a import b` the module a.b where there is one, else a."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                full = f"{node.module}.{name.name}"
                target = full if full in known else node.module
                if target in known:
                    yield target


def _parts(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _reached(name: str, between: Arrows) -> set[str]:
    reached, waiting = set[str](), list(between[name])
    while waiting:
        target = waiting.pop()
        if target not in reached:
            reached.add(target)
            waiting.extend(between.get(target, ()))
    return reached
