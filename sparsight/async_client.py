"""AsyncClient: the calls of Client, awaited."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self, get_origin

from sparsight.client import Client


class AsyncClient:
    """The same calls as those of Client, each in a thread, so that many go on at once; lists are `async for`.

    Takes what Client takes, and raises what it raises.
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
        lists = get_origin(inspect.signature(call).return_annotation) is Iterator

        def begin(*arguments: Any, **options: Any) -> Any:
            if lists:
                return _items(call(*arguments, **options))
            return asyncio.to_thread(call, *arguments, **options)

        return begin


async def _items(found: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (item := await asyncio.to_thread(next, found, end)) is not end:
        yield item
