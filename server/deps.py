"""What routes and pages are handed: the open database, who calls may be, the settings, the store and the ingestor.

Each is a coroutine: FastAPI sends what is not to a thread, and the request waits for its turn there.
"""

from typing import Annotated, Any

from fastapi import Depends, Request

from server.access import Access
from server.collection.fetcher import Fetcher
from server.db import Database
from server.ingest import Ingestor
from server.session_cookie import SessionCookie
from server.settings import Settings
from server.store import Store


def _state(name: str) -> Any:
    """Return the dependency on what the app holds under a name of its state; a coroutine needs no thread."""

    async def held(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(held)


SettingsDep = Annotated[Settings, _state("settings")]
AccessDep = Annotated[Access, _state("access")]
CookieDep = Annotated[SessionCookie, _state("cookie")]
DatabaseDep = Annotated[Database, _state("database")]
StoreDep = Annotated[Store, _state("store")]
FetcherDep = Annotated[Fetcher, _state("fetcher")]
IngestorDep = Annotated[Ingestor, _state("ingestor")]
