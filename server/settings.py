"""Settings: every option of the service, read once from SPARSIGHT_* variables."""

from ipaddress import ip_network
from pathlib import Path

from pydantic import AliasChoices, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from gpu_engine.host.caches import HOME
from server.logs import Form

GIB = 2**30


class Settings(BaseSettings):
    """The options of one process; the environment name of a field is SPARSIGHT_ and the field in capitals.

    Secrets may lie in files, which are read here, once; neither a message nor a repr of this class shows one.
    """

    model_config = SettingsConfigDict(
        env_prefix="SPARSIGHT_", extra="ignore", frozen=True, hide_input_in_errors=True, validate_default=True
    )

    home: Path = Field(default=HOME, description="Folder of the database, the matrices and the caches.")
    database_password_file: str = Field(default="", description="File of the password that the URL leaves out.")
    database_url: str = Field(default="", repr=False, description="SQLAlchemy URL; empty: SQLite in the home folder.")
    store: str = Field(
        default="", description="Folder (fsspec URL) of the matrices; empty: matrices/ in the home folder."
    )
    ray_address: str = Field(default="", description="Address of a Ray cluster; empty: Ray runs inside the worker.")
    cluster_groups: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Actor groups of this host that stand for hosts of the device `cluster`; 0: it is of real hosts.",
    )
    host_name: str = Field(
        default="",
        max_length=40,
        pattern=r"^[A-Za-z0-9._-]*$",
        description="Name of this host, put before its devices (NAME/cuda:0) where several hosts share a database.",
    )
    token_file: str = Field(default="", description="File that holds the token.")
    token: str = Field(
        default="", repr=False, description="Token of an admin, beside those of the database; empty: none."
    )
    requests_per_minute: int = Field(
        default=3000, ge=0, description="Most calls of one token in a minute; 0: any number."
    )
    collection_url: str = Field(
        default="https://sparse.tamu.edu",
        pattern=r"^(https?://[^\s/?#@]+(/[^\s?#]*)?)?$",
        description="Address of the SuiteSparse Matrix Collection or a mirror; empty: nothing is fetched by name.",
    )
    host: str = Field(default="127.0.0.1", description="Address that the server binds.")
    hosts: str = Field(
        default="", description="Further host names that the server answers to, comma-separated; *: any."
    )
    proxy: str = Field(
        default="",
        description="Addresses of proxies, comma-separated, that are believed who called and how; empty: none.",
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port that the server binds.")
    upload_bytes: int = Field(default=2 * GIB, gt=0, description="Largest upload, in bytes as sent.")
    decompressed_bytes: int = Field(default=16 * GIB, gt=0, description="Largest matrix file after decompression.")
    nnz_max: int = Field(default=500_000_000, gt=0, description="Most nonzeros of a matrix, symmetric halves expanded.")
    ingest_memory_bytes: int = Field(
        default=16 * GIB, gt=0, description="Address space of the process that reads a file."
    )
    ingest_seconds: float = Field(default=600, gt=0, description="Longest time to read one file.")
    layout_bytes: int = Field(
        default=0, ge=0, description="Most memory of one layout; 0: half a GPU's memory, an eighth of a host's."
    )
    custom_kernels: str = Field(
        default="",
        validation_alias=AliasChoices("custom_kernels", "SPARSIGHT_CUSTOM_KERNELS", "SPARSIGHT_CONTESTANTS"),
        description="Folder of custom kernels that jobs may name; empty: none. Their code is run.",
    )
    cusparse: str = Field(
        default="", description="File of the cuSPARSE to measure beside ours; empty: the one that CuPy comes with."
    )
    queue_limit: int = Field(default=1000, gt=0, description="Most jobs queued at a time.")
    lease_seconds: float = Field(
        default=60, gt=0, description="A running job whose worker is silent this long is requeued."
    )
    keep_days: float = Field(
        default=0, ge=0, description="Jobs, and matrices that no job needs, are deleted after this; 0: never."
    )
    keep_bytes: int = Field(
        default=0, ge=0, description="Most bytes of matrices: the least used go first, with results; 0: any."
    )
    drain_seconds: float = Field(
        default=0, ge=0, description="How long a worker that is told to stop lets running jobs go on before it does."
    )
    log_format: Form = Field(
        default="auto", description="`json`: a line of JSON an entry; `text`: words; `auto`: text on a terminal only."
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        # Processes of the service work in other folders.
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
            raise ValueError("SPARSIGHT_DATABASE_PASSWORD_FILE is set, and there is no URL that the password is for")
        # Only who uses a password waits for SQLAlchemy: the client starts without it.
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            return make_url(url).set(password=_secret(file)).render_as_string(hide_password=False)
        except ArgumentError:
            raise ValueError("this is no SQLAlchemy URL") from None

    @field_validator("token")
    @classmethod
    def _from_file(cls, token: str, info: ValidationInfo) -> str:
        file = info.data.get("token_file")
        if not file:
            return token
        if token:
            raise ValueError("SPARSIGHT_TOKEN_FILE is set too; give one of them")
        return _secret(file)

    @property
    def resolved_database_url(self) -> str:
        """The database to open."""
        return self.database_url or f"sqlite:///{self.home / 'sparsight.db'}"

    @property
    def resolved_store(self) -> str:
        """The folder of the matrices."""
        return self.store or str(self.home / "matrices")


def _secret(file: str) -> str:
    """What the file holds, without the white space around it."""
    try:
        secret = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"the file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {file} is not text") from None
    if not secret:
        raise ValueError(f"the file {file} is empty")
    return secret
