"""What routes and pages are handed: the open database, who calls may be, the settings, the store and the ingestor.

Each is a coroutine: FastAPI sends what is not to a thread, and the request waits for its turn there.
"""

from typing import Annotated

from fastapi import Depends, Request

from server.access import Access
from server.collection.fetcher import Fetcher
from server.db import Database
from server.ingest import Ingestor
from server.session_cookie import SessionCookie
from server.settings import Settings
from server.store import Store


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def _access(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


async def _cookie(request: Request) -> SessionCookie:
    cookie: SessionCookie = request.app.state.cookie
    return cookie


async def _database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


async def _ingestor(request: Request) -> Ingestor:
    ingestor: Ingestor = request.app.state.ingestor
    return ingestor


async def _fetcher(request: Request) -> Fetcher:
    fetcher: Fetcher = request.app.state.fetcher
    return fetcher


SettingsDep = Annotated[Settings, Depends(_settings)]
AccessDep = Annotated[Access, Depends(_access)]
CookieDep = Annotated[SessionCookie, Depends(_cookie)]
DatabaseDep = Annotated[Database, Depends(_database)]
StoreDep = Annotated[Store, Depends(_store)]
FetcherDep = Annotated[Fetcher, Depends(_fetcher)]
IngestorDep = Annotated[Ingestor, Depends(_ingestor)]
