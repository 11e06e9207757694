"""Settings: all options of the service, read once from SPARSIGHT_* variables."""

from ipaddress import ip_network
from pathlib import Path

from pydantic import AliasChoices, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from gpu_engine.host.caches import HOME
from server.logs import Form

GIB = 2**30


class Settings(BaseSettings):
    """Options of one process. The environment variable of a field is SPARSIGHT_ and the field name in capitals.

    Files with secrets are read once, here. Neither error messages nor the repr of this class contain secrets.
    """

    model_config = SettingsConfigDict(
        env_prefix="SPARSIGHT_",
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
        validate_default=True,
    )

    home: Path = Field(
        default=HOME, description="Data directory: folder of the database, the matrices, and the caches."
    )
    database_password_file: str = Field(
        default="", description="File with the database password, if the URL does not contain it."
    )
    database_url: str = Field(
        default="", repr=False, description="SQLAlchemy URL of the database; empty: SQLite in the data directory."
    )
    store: str = Field(
        default="", description="Folder (fsspec URL) of the matrices; empty: matrices/ in the data directory."
    )
    ray_address: str = Field(default="", description="Address of a Ray cluster; empty: each worker starts its own Ray.")
    cluster_groups: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Actor groups of this host that simulate hosts of the device `cluster`; 0: real hosts.",
    )
    host_name: str = Field(
        default="",
        max_length=40,
        pattern=r"^[A-Za-z0-9._-]*$",
        description="Name of this host, a prefix of its devices (NAME/cuda:0) if several hosts share a database.",
    )
    token_file: str = Field(default="", description="File with the token.")
    token: str = Field(
        default="", repr=False, description="Admin token, in addition to those in the database; empty: none."
    )
    requests_per_minute: int = Field(default=3000, ge=0, description="Requests per minute and token; 0 = unlimited.")
    collection_url: str = Field(
        default="https://sparse.tamu.edu",
        pattern=r"^(https?://[^\s/?#@]+(/[^\s?#]*)?)?$",
        description="Address of the SuiteSparse Matrix Collection or a mirror; empty: downloads by name are off.",
    )
    host: str = Field(default="127.0.0.1", description="Address that the server listens on.")
    hosts: str = Field(default="", description="Further host names of the server, comma-separated; *: any.")
    proxy: str = Field(
        default="",
        description=(
            "Addresses of trusted proxies, comma-separated, whose forwarded headers are believed; empty: none."
        ),
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port that the server listens on.")
    upload_bytes: int = Field(default=2 * GIB, gt=0, description="Largest upload in bytes, as sent.")
    decompressed_bytes: int = Field(
        default=16 * GIB, gt=0, description="Largest matrix file in bytes after decompression."
    )
    nnz_max: int = Field(
        default=500_000_000, gt=0, description="Maximum number of nonzeros of a matrix, with symmetric halves expanded."
    )
    ingest_memory_bytes: int = Field(
        default=16 * GIB, gt=0, description="Maximum address space in bytes of the process that reads a file."
    )
    ingest_seconds: float = Field(default=600, gt=0, description="Maximum seconds to read one file.")
    layout_bytes: int = Field(
        default=0, ge=0, description="Maximum bytes of one layout; 0: half of a GPU's memory, an eighth of a host's."
    )
    custom_kernels: str = Field(
        default="",
        validation_alias=AliasChoices("SPARSIGHT_CUSTOM_KERNELS", "SPARSIGHT_CONTESTANTS"),
        description="Folder of custom kernels, whose code jobs may run; empty: none.",
    )
    cusparse: str = Field(
        default="", description="File of the cuSPARSE library to measure; empty: the one used by CuPy."
    )
    queue_limit: int = Field(default=1000, gt=0, description="Maximum number of queued jobs.")
    lease_seconds: float = Field(
        default=60,
        gt=0,
        description="Seconds without a heartbeat of its worker after which a running job is queued again.",
    )
    keep_days: float = Field(
        default=0, ge=0, description="Days after which jobs, and matrices without jobs, are deleted; 0: never delete."
    )
    keep_bytes: int = Field(
        default=0,
        ge=0,
        description=(
            "Maximum bytes of matrices; the least recently used are deleted first, with results; 0 = unlimited."
        ),
    )
    drain_seconds: float = Field(default=0, ge=0, description="Seconds that running jobs may finish during shutdown.")
    log_format: Form = Field(
        default="auto",
        description=("`json`: one line of JSON per entry; `text`: plain text; `auto`: text on a terminal, else JSON."),
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        # Processes of the service run in other working directories.
        return home.expanduser().absolute()

    @field_validator("proxy")
    @classmethod
    def _addresses(cls, proxy: str) -> str:
        for address in filter(None, map(str.strip, proxy.split(","))):
            ip_network(address)
        return proxy

    @field_validator("database_url")
    @classmethod
    def _with_password(cls, url: str, info: ValidationInfo) -> str:
        file = info.data.get("database_password_file")
        if not file:
            return url
        if not url:
            raise ValueError("SPARSIGHT_DATABASE_PASSWORD_FILE is set without SPARSIGHT_DATABASE_URL; set both")
        # Import SQLAlchemy only if needed: the client starts without it.
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            return make_url(url).set(password=_secret(file)).render_as_string(hide_password=False)
        except ArgumentError:
            raise ValueError("not a valid SQLAlchemy URL") from None

    @field_validator("token")
    @classmethod
    def _from_file(cls, token: str, info: ValidationInfo) -> str:
        file = info.data.get("token_file")
        if not file:
            return token
        if token:
            raise ValueError("SPARSIGHT_TOKEN_FILE is set too; set only one of them")
        return _secret(file)

    @property
    def resolved_database_url(self) -> str:
        """Return the URL of the database."""
        return self.database_url or f"sqlite:///{self.home / 'sparsight.db'}"

    @property
    def resolved_store(self) -> str:
        """Return the folder of the matrices."""
        return self.store or str(self.home / "matrices")


def _secret(file: str) -> str:
    """Return the content of the file without surrounding white space."""
    try:
        secret = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"cannot read the file {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {file} is not text") from None
    if not secret:
        raise ValueError(f"the file {file} is empty")
    return secret
