"""Dependencies of routes and pages: the open database, access control, the settings, the store, and the ingestor.

Each is a coroutine, because FastAPI runs other functions in a thread and the request would wait for one.
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
    """Return the dependency on an attribute of the app's state. It is a coroutine, so it needs no thread."""

    async def from_state(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(from_state)


SettingsDep = Annotated[Settings, _state("settings")]
AccessDep = Annotated[Access, _state("access")]
CookieDep = Annotated[SessionCookie, _state("cookie")]
DatabaseDep = Annotated[Database, _state("database")]
StoreDep = Annotated[Store, _state("store")]
FetcherDep = Annotated[Fetcher, _state("fetcher")]
IngestorDep = Annotated[Ingestor, _state("ingestor")]
