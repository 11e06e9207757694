"""Resources of the compiled CUDA kernels on a device: registers, spills, and shared memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one compiled kernel.

    registers     registers per thread
    local_bytes   local memory per thread: register spills, or arrays that are indexed at run time
    shared_bytes  static shared memory per block
    """

    file: str
    instantiation: str
    registers: int
    local_bytes: int
    shared_bytes: int


def resources() -> Iterator[Resources]:
    """Yield the resources of every instantiation of FORMATS, compiled for the current device."""
    for source in sources():
        for name in source.instantiations:
            attributes = source.function(name).attributes
            yield Resources(
                source.file,
                name,
                attributes["num_regs"],
                attributes["local_size_bytes"],
                attributes["shared_size_bytes"],
            )


def sources() -> tuple[CudaSource, ...]:
    """Return the CUDA sources of FORMATS, each once."""
    return tuple(dict.fromkeys(source for f in FORMATS for k in f.kernels for source in k.sources))


def resources_table() -> str:
    """Return the resources as a Markdown table."""
    lines = [
        "| file | kernel | registers | local bytes | shared bytes |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {r.file} | `{r.instantiation}` | {r.registers} | {r.local_bytes} | {r.shared_bytes} |"
            for r in resources()
        ),
    ]
    return "\n".join(lines) + "\n"
