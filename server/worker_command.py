"""How to start a worker of this server: the command with the settings that differ from their defaults."""

import shlex

from server.roles import Caller, Role
from server.settings import Settings

SHARED = ("home", "database_url", "store", "ray_address", "custom_kernels", "cusparse")
"""Settings that a worker needs as the server has them."""

COMMAND = "sparsight worker"


def start_text(settings: Settings, caller: Caller) -> str:
    """Return how to start a worker; only administrators see where the data of this server are."""
    if caller.role is not Role.ADMIN:
        return f"Ask an administrator to start a worker: `{COMMAND}` with the settings of this server."
    return f"Start a worker with `{worker_command(settings)}`, or restart the server without `--no-worker`."


def worker_command(settings: Settings) -> str:
    """Return the command for a new shell: `SPARSIGHT_HOME=/data sparsight worker`.

    An address with a name or a password is not printed: the shell stops if its variable is not set there.
    """
    defaults = Settings.model_construct()
    standard = {**defaults.model_dump(), "home": defaults.home.expanduser().absolute()}
    changed = (name for name in SHARED if getattr(settings, name) != standard[name])
    return " ".join((*(_assignment(name, str(getattr(settings, name))) for name in changed), COMMAND))


def _assignment(name: str, value: str) -> str:
    variable = f"SPARSIGHT_{name.upper()}"
    is_secret = "://" in value and "@" in value
    return f'{variable}="${{{variable}:?}}"' if is_secret else f"{variable}={shlex.quote(value)}"
