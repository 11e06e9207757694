"""Names of kernels and keys of cases may have any length: Postgres refused those that SQLite took."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

COLUMNS = (
    ("case_deaths", {"case_key": 400}),
    ("measurements", {"case_key": 400, "kernel": 80}),
    ("traces", {"case_key": 400}),
)


def upgrade() -> None:
    for table, columns in COLUMNS:
        with op.batch_alter_table(table) as batch:
            for name, length in columns.items():
                batch.alter_column(name, type_=sa.Text(), existing_type=sa.String(length), existing_nullable=False)


def downgrade() -> None:
    for table, columns in COLUMNS:
        _delete_longer(table, columns)
        with op.batch_alter_table(table) as batch:
            for name, length in columns.items():
                batch.alter_column(name, type_=sa.String(length), existing_type=sa.Text(), existing_nullable=False)


def _delete_longer(table: str, columns: dict[str, int]) -> None:
    """Deletes the rows that the release before could not have written."""
    rows = sa.table(table, *(sa.column(name, sa.Text()) for name in columns))
    longer = (sa.func.length(rows.c[name]) > length for name, length in columns.items())
    op.execute(sa.delete(rows).where(sa.or_(*longer)))
