"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "devices",
        sa.Column("id", sa.String(length=60), nullable=False),
        sa.Column("info", sa.JSON(), nullable=False),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_devices")),
    )
    op.create_table(
        "event_counter",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_counter")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("topic", sa.String(length=60), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_topic"), "events", ["topic"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=40), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("matrix_ids", sa.JSON(), nullable=False),
        sa.Column("device", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=36), nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("cases_done", sa.Integer(), nullable=False),
        sa.Column("cases_total", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("message", sa.String(length=200), nullable=False),
        sa.Column("current_case", sa.Text(), nullable=False),
        sa.Column("estimate_s", sa.Float(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=False),
        sa.Column("retry_of", sa.String(length=32), nullable=True),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("request_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["retry_of"], ["jobs.id"], name=op.f("fk_jobs_retry_of_jobs"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_jobs_idempotency_key")),
    )
    op.create_index(op.f("ix_jobs_created_at"), "jobs", ["created_at"], unique=False)
    op.create_index(op.f("ix_jobs_device"), "jobs", ["device"], unique=False)
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"], unique=False)
    op.create_index(op.f("ix_jobs_study"), "jobs", ["study"], unique=False)
    op.create_table(
        "matrices",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("n_rows", sa.BigInteger(), nullable=False),
        sa.Column("n_cols", sa.BigInteger(), nullable=False),
        sa.Column("nnz", sa.BigInteger(), nullable=False),
        sa.Column("features", sa.JSON(), nullable=False),
        sa.Column("error", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matrices")),
        sa.UniqueConstraint("sha256", name=op.f("uq_matrices_sha256")),
    )
    op.create_index(op.f("ix_matrices_created_at"), "matrices", ["created_at"], unique=False)
    op.create_index(op.f("ix_matrices_fingerprint"), "matrices", ["fingerprint"], unique=False)
    op.create_index(op.f("ix_matrices_state"), "matrices", ["state"], unique=False)
    op.create_table(
        "case_deaths",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("case_key", sa.String(length=400), nullable=False),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_case_deaths_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_case_deaths")),
        sa.UniqueConstraint("job_id", "case_key", name=op.f("uq_case_deaths_job_id_case_key")),
    )
    op.create_table(
        "measurements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("case_key", sa.String(length=400), nullable=False),
        sa.Column("matrix_id", sa.String(length=32), nullable=False),
        sa.Column("device", sa.String(length=60), nullable=False),
        sa.Column("kernel", sa.String(length=80), nullable=False),
        sa.Column("cache", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("record", sa.JSON(), nullable=False),
        sa.Column("samples_s", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_measurements_job_id_jobs"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["matrix_id"], ["matrices.id"], name=op.f("fk_measurements_matrix_id_matrices"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurements")),
        sa.UniqueConstraint("job_id", "case_key", name=op.f("uq_measurements_job_id_case_key")),
    )
    op.create_index("ix_measurements_matrix_device", "measurements", ["matrix_id", "device"], unique=False)
    op.create_table(
        "traces",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("case_key", sa.String(length=400), nullable=False),
        sa.Column("record", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_traces_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_traces")),
        sa.UniqueConstraint("job_id", "case_key", name=op.f("uq_traces_job_id_case_key")),
    )
    # Events count from 1; the counter has this one row for ever.
    op.execute("INSERT INTO event_counter (id, value) VALUES (1, 0)")


def downgrade() -> None:
    for table in ("traces", "measurements", "case_deaths", "matrices", "jobs", "events", "event_counter", "devices"):
        op.drop_table(table)
