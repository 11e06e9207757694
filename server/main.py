"""create_app: connects database, store, routes, and pages. It is the only server module that may import web."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from starlette.concurrency import run_in_threadpool

from gpu_engine import release
from server.access import Access
from server.audit import Audit
from server.body_limit import BodyLimit
from server.collection.fetcher import Fetcher
from server.db import Database
from server.errors import install_error_handlers
from server.former_addresses import FormerAddresses
from server.guard import Guard
from server.head_requests import HeadAsGet
from server.ingest import Ingestor
from server.metrics import Measured, Metrics
from server.openapi import COMMON, describe, operation_id, problem_docs
from server.roles import READ
from server.routes import (
    audit,
    collection,
    devices,
    events,
    formats,
    health,
    history,
    jobs,
    matrices,
    recordings,
    sets,
    studies,
)
from server.session_cookie import SessionCookie, service_id
from server.settings import Settings
from server.store import Store
from server.turns import Turns
from web import api as figures
from web import pages

ROUTERS = (matrices, sets, collection, jobs, history, events, devices, recordings, studies, formats, figures, audit)


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application. It never imports Ray or CuPy."""
    settings.home.mkdir(parents=True, exist_ok=True)
    app = FastAPI(
        title="Sparsight",
        version=release(),
        lifespan=_lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=operation_id,
    )
    app.state.settings = settings
    app.state.metrics = metrics = Metrics()
    app.state.database = Database(settings.resolved_database_url, metrics.observe_transaction)
    app.state.access = Access(app.state.database, settings.token)
    app.state.cookie = SessionCookie(service_id(settings.home))
    app.state.store = Store(settings.resolved_store)
    app.state.ingestor = Ingestor(settings, app.state.database, app.state.store)
    app.state.fetcher = Fetcher(settings, app.state.ingestor)
    app.state.streams = events.Streams()
    app.state.starts_worker = False
    metrics.watch(app.state.database, app.state.ingestor, app.state.streams)
    install_error_handlers(app)
    app.add_middleware(BodyLimit, upload_bytes=settings.upload_bytes)
    app.add_middleware(Turns)
    app.add_middleware(Audit, database=app.state.database)
    app.add_middleware(Guard, settings=settings, access=app.state.access, cookie=app.state.cookie)
    app.add_middleware(Measured, metrics=metrics)
    # It does not compress event streams. Level 9 takes three times as long and saves 10 %.
    app.add_middleware(GZipMiddleware, compresslevel=5)
    # Outermost, so that Content-Length is that of the compressed body.
    app.add_middleware(FormerAddresses)
    app.add_middleware(HeadAsGet)
    for module in ROUTERS:
        app.include_router(module.router, prefix="/api/v1", responses=COMMON, dependencies=[READ])
    app.include_router(health.router, responses=problem_docs(400))
    describe(app)
    pages.install(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Also if the start or a shutdown step fails.
    with closing(app.state.database):
        await run_in_threadpool(app.state.ingestor.open)
        yield
        app.state.fetcher.stop()
        await run_in_threadpool(app.state.ingestor.close)
        await run_in_threadpool(app.state.fetcher.close)
