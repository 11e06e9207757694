"""Roles: who may make which call.

A route names the least role that may call it, `dependencies=[SUBMIT]`; what has none beside its router's `READ` only
reads. Nothing else decides: the description of the API and the tests derive theirs from the routes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Request

from gpu_engine.errors import ForbiddenError, quote


class Role(StrEnum):
    """What a token opens; each role may do what those before it may."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"

    def covers(self, other: "Role") -> bool:
        """Whether this role may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call.

    token_id  of the tokens that have quotas; empty: none
    digest    of the token; session: of the id of the browser's session, empty where the token itself was sent
    """

    name: str
    role: Role
    token_id: str = ""
    digest: str = ""
    session: str = ""

    def check_owner(self, token_id: str) -> None:
        """Raises ForbiddenError unless this caller has begun what that token has, or is an admin."""
        if self.role is not Role.ADMIN and self.token_id != token_id:
            raise ForbiddenError("Another token has begun this; its holder may change or end it, or an admin.")


LOCAL = Caller("local", Role.ADMIN)
"""Everybody, where the service has no token."""


class Needs:
    """A dependency of routes: the caller, whose role covers this one; raises ForbiddenError."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """The caller."""
        caller: Caller = request.state.caller
        if not caller.role.covers(self.role):
            raise ForbiddenError(
                f"This call needs the role {self.role}; the token {quote(caller.name)} has the role {caller.role}. "
                "Ask who runs the service for another token."
            )
        return caller


READ, SUBMIT, ADMIN = (Depends(Needs(role)) for role in Role)


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(_caller)]


def every_route(routes: Iterable[Any]) -> Iterator[Any]:
    """Every route with its own path, those of included routers too."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from every_route(route.effective_candidates())
        else:
            yield route


def role_of(route: Any) -> Role | None:
    """The least role that may call the route; None where it names none."""
    dependencies = getattr(getattr(route, "dependant", None), "dependencies", ())
    named = [each.call.role for each in dependencies if isinstance(each.call, Needs)]
    return max(named, key=list(Role).index, default=None)
