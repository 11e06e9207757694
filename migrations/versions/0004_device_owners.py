"""The dispatcher that offers a device: two of them must not offer one id."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("devices") as batch:
        batch.add_column(sa.Column("owner", sa.String(length=36), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("devices") as batch:
        batch.drop_column("owner")
