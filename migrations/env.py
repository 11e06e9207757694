"""Alembic's environment: runs the revisions on the connection that server/migrate.py opened and locked."""

from alembic import context

from server.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite cannot alter most of a table: batch mode makes it anew.
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
