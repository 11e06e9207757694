"""What the compiler made of our CUDA kernels on a device: registers, spills, shared memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Resources:
    """One compiled kernel.

    registers     a thread
    local_bytes   a thread: what did not fit into registers, or an array that is indexed at run time
    shared_bytes  a block, fixed at compile time
    """

    file: str
    instantiation: str
    registers: int
    local_bytes: int
    shared_bytes: int


def resources() -> Iterator[Resources]:
    """Every instantiation of every source of FORMATS, compiled for the current device."""
    for source in sources():
        for name in source.instantiations:
            found = source.function(name).attributes
            yield Resources(source.file, name, found["num_regs"], found["local_size_bytes"], found["shared_size_bytes"])


def sources() -> tuple[CudaSource, ...]:
    """The CUDA files of FORMATS, each once."""
    return tuple(dict.fromkeys(source for f in FORMATS for k in f.kernels for source in k.sources))


def resources_table() -> str:
    """The same as a Markdown table."""
    lines = [
        "| file | kernel | registers | local bytes | shared bytes |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {r.file} | `{r.instantiation}` | {r.registers} | {r.local_bytes} | {r.shared_bytes} |"
            for r in resources()
        ),
    ]
    return "\n".join(lines) + "\n"
