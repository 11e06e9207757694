"""The deaths of a case's dispatcher, counted apart from those of its process."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("case_deaths") as batch:
        batch.add_column(sa.Column("losses", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("case_deaths") as batch:
        batch.drop_column("losses")
