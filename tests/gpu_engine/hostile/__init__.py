"""Files that are to be refused, one module a format; the tests of the readers and those of the service share them.

A module's BAD holds files that are wrong, its LARGE functions that make files over a limit.
"""

from collections.abc import Callable

from tests.gpu_engine.hostile import archives, compressed, graph_xml, harwell_boeing, matlab, matlab4, npz, petsc

#: name → (file, words of the message)
BAD: dict[str, tuple[bytes, str]] = {
    f"{kind}: {name}": case
    for kind, cases in {
        "archive": archives.BAD,
        "npz": npz.BAD,
        "mat": matlab.BAD,
        "mat v4": matlab4.BAD,
        "PETSc": petsc.BAD,
        "XML": graph_xml.BAD,
        "Harwell-Boeing": harwell_boeing.BAD,
    }.items()
    for name, case in cases.items()
}

LARGE: dict[str, Callable[[], bytes]] = {
    name: make
    for module in (archives, compressed, npz, matlab, matlab4, petsc, graph_xml, harwell_boeing)
    for name, make in module.LARGE.items()
}
