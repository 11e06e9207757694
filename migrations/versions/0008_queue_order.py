"""The jobs of a state in the order in which they are shown and claimed, from an index alone."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_jobs_state_created_at_id", "jobs", ["state", "created_at", "id"])
    op.drop_index("ix_jobs_state", "jobs")


def downgrade() -> None:
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.drop_index("ix_jobs_state_created_at_id", "jobs")
