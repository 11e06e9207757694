"""Recordings: results of devices that are not here, by the fingerprint of their matrices."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recordings",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("study", sa.String(length=40), nullable=False),
        sa.Column("device", sa.String(length=60), nullable=False),
        sa.Column("info", sa.JSON(), nullable=False),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recordings")),
    )
    op.create_table(
        "recorded_results",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("recording_id", sa.String(length=100), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("measurements", sa.JSON(), nullable=False),
        sa.Column("traces", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_id"],
            ["recordings.id"],
            name=op.f("fk_recorded_results_recording_id_recordings"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recorded_results")),
        sa.UniqueConstraint("recording_id", "fingerprint", name=op.f("uq_recorded_results_recording_id_fingerprint")),
    )
    op.create_index(op.f("ix_recorded_results_fingerprint"), "recorded_results", ["fingerprint"], unique=False)


def downgrade() -> None:
    for table in ("recorded_results", "recordings"):
        op.drop_table(table)
    op.execute("DELETE FROM matrices WHERE state = 'recorded'")
