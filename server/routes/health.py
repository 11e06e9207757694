"""Routes /healthz, /readyz, and /metrics for operators."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from server import devices, metrics
from server.deps import DatabaseDep
from server.documents import Health
from server.migrate import check_current
from server.openapi import problem_docs, response_docs
from server.roles import READ

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=response_docs(Health))
async def check_health() -> Health:
    """Return 200 if the server responds."""
    # In the event loop, because all threads may be waiting for a database.
    return {"status": "ok"}


@router.get("/readyz", responses=response_docs(Health, 503))
def check_readiness(database: DatabaseDep) -> Health:
    """Return 200 if the database is migrated and a worker offers a device; 503 with the reason otherwise."""
    check_current(database)
    with database.read() as session:
        if not devices.offered(session):
            raise devices.none_offered(session)
    return {"status": "ok"}


@router.get(
    "/metrics", response_class=PlainTextResponse, responses=problem_docs(400, 401, 403, 429), dependencies=[READ]
)
def get_metrics(request: Request) -> Response:
    """Return metrics of queue, jobs, devices, database, and requests in the text format of Prometheus."""
    return Response(request.app.state.metrics.render(), media_type=metrics.TYPE)
