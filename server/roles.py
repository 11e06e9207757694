"""Roles: which requests a token allows.

A route declares its minimum role as `dependencies=[SUBMIT]`; routes with only the `READ` of their router just read.
This is the only source: the API description and the tests derive the roles from the routes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Request

from gpu_engine.errors import ForbiddenError, quote


class Role(StrEnum):
    """Permissions of a token. Each role includes the ones before it."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"

    def covers(self, other: "Role") -> bool:
        """Return whether this role includes the other one."""
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Caller:
    """Author of a request.

    token_id  id of the token if it has quotas, else empty
    digest    of the token; session: of the id of the browser's session, empty if the token itself was sent
    """

    name: str
    role: Role
    token_id: str = ""
    digest: str = ""
    session: str = ""

    def check_owner(self, token_id: str) -> None:
        """Raise ForbiddenError unless this caller has this token or is an admin."""
        if self.role is not Role.ADMIN and self.token_id != token_id:
            raise ForbiddenError("This job belongs to another token. Only its owner or an admin can change or stop it.")


LOCAL = Caller("local", Role.ADMIN)
"""Every caller of a service without tokens."""


class Needs:
    """Dependency of routes that returns the caller. Raises ForbiddenError if its role is too low."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """Return the caller."""
        caller: Caller = request.state.caller
        if not caller.role.covers(self.role):
            raise ForbiddenError(
                f"This request needs the role {self.role}, but the token {quote(caller.name)} has "
                f"the role {caller.role}. Ask the operator of the server for another token."
            )
        return caller


READ, SUBMIT, ADMIN = (Depends(Needs(role)) for role in Role)


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(_caller)]


def every_route(routes: Iterable[Any]) -> Iterator[Any]:
    """Yield every route with its own path, including those of included routers."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from every_route(route.effective_candidates())
        else:
            yield route


def role_of(route: Any) -> Role | None:
    """Return the minimum role of the route, or None if it declares none."""
    dependencies = getattr(getattr(route, "dependant", None), "dependencies", ())
    named = [each.call.role for each in dependencies if isinstance(each.call, Needs)]
    return max(named, key=list(Role).index, default=None)
