"""Client for asyncio programs: every method of Client as a coroutine."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self, get_origin

from sparsight.client import Client


class AsyncClient:
    """Client whose methods are awaited; each call runs in a thread, so several can run at once.

    It has the parameters, methods, and errors of Client. Methods that return an iterator are read with `async for`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._client = Client(*arguments, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._client.close)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(f"AsyncClient has no attribute {name!r}.")
        call = getattr(self._client, name)
        is_iterator = get_origin(inspect.signature(call).return_annotation) is Iterator

        def start_call(*arguments: Any, **options: Any) -> Any:
            if is_iterator:
                return _iterate(call(*arguments, **options))
            return asyncio.to_thread(call, *arguments, **options)

        return start_call


async def _iterate(documents: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (document := await asyncio.to_thread(next, documents, end)) is not end:
        yield document
