"""A stand-in of bound launches, where there is no GPU: whoever wants to know is told of each."""

from collections.abc import Callable, Sequence
from typing import Any

from gpu_engine.cuda.load import CudaSource

Note = Callable[[str, int, int, tuple[Any, ...], int], None]
"""(kernel, blocks, threads, arguments, bytes of shared memory) of a launch."""


def noted(note: Note) -> Callable[..., Callable[..., None]]:
    """In place of `CudaSource.bound`."""

    def bound(
        source: CudaSource,
        name: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_mem: int = 0,
        follows: bool = False,
    ) -> Callable[..., None]:
        assert name in source.instantiations

        def call(*vectors: Any) -> None:
            given = iter(vectors)
            now = tuple(next(given) if argument is None else argument for argument in arguments)
            note(name, blocks, threads, now, shared_mem)

        return call

    return bound
