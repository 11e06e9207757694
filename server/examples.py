"""Examples of all API documents, shown in OpenAPI. The tests check each against its type."""

from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from gpu_engine.studies.results import results_document
from server import documents, history_documents, result_documents

MATRIX_ID, JOB_ID = "9f86d081884c7d65", "5f0c6a1e2b4d4f0e8a9b7c6d5e4f3a2b"
CREATED_AT = "2026-11-21T02:00:00.000Z"

MEASUREMENT = Measurement.of(
    Case(MATRIX_ID, "csr/vector", "warm"),
    "cuda:0",
    ProductDetails,
    median_s=2.1e-5,
    ci_low_s=2.08e-5,
    ci_high_s=2.13e-5,
    gflops=306.3,
    stored_bytes=39_894_164,
    roofline_s=1.1e-5,
    max_error=0.4,
)

RESULTS = results_document(StudyData([MEASUREMENT], {MATRIX_ID: MatrixFeatures("cnr-2000")}))

EXAMPLES: dict[Any, Any] = {
    documents.Problem: {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "code": "not_found",
        "detail": "Unknown job '5f0'.",
        "hint_code": "list_jobs",
        "hint": "GET /api/v1/jobs lists them.",
    },
    documents.Recording: {
        "id": "node7-h100/formats",
        "device": "recorded:node7-h100",
        "name": "NVIDIA H100 80GB HBM3 (recorded)",
        "study": "formats",
        "imported": True,
        "measured_at": CREATED_AT,
        "times": None,
    },
    documents.Matrix: {
        "id": MATRIX_ID,
        "name": "cnr-2000",
        "state": "ready",
        "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "fingerprint": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
        "n_rows": 325557,
        "n_cols": 325557,
        "nnz": 3216152,
        "features": {"ave": 9.88, "sigma": 34.4, "max": 2716, "min": 0},
        "advice": [
            {
                "kernel": "split/tile",
                "predicted_s": {"P100": 7.6e-5, "V100": 6.1e-5, "A100-40": 3.2e-5, "H100-SXM": 1.7e-5, "H200": 1.4e-5},
                "equal": True,
                "cold_place": 1,
                "reason": "Stores 12.5 bytes per nonzero without padding. Memory bandwidth limits it.",
            }
        ],
        "advice_gpu": "H200",
        "near_best": ["split/tile", "coo/segmented"],
        "confidence": "high",
        "source": {"kind": "upload", "filename": "cnr-2000.mtx.gz", "bytes": 9837912},
        "error": None,
        "created_at": CREATED_AT,
        "links": {"self": f"/api/v1/matrices/{MATRIX_ID}", "events": f"/api/v1/events?topics=matrix:{MATRIX_ID}"},
    },
    documents.MatrixSet: {
        "id": "5d3f1c9a2b7e",
        "name": "webs",
        "matrix_ids": [MATRIX_ID],
        "created_at": CREATED_AT,
        "links": {"self": "/api/v1/sets/5d3f1c9a2b7e"},
    },
    documents.Preview: {
        "format": "edge list",
        "needs_direction": True,
        "asks": ["directed", "weights", "duplicates"],
        "n_rows": 2,
        "n_cols": 2,
        "nnz": 1,
        "symmetric": False,
        "reciprocal": 0.0,
        "duplicates": 0,
        "first_entries": [[0, 1, 1.0]],
        "notes": ["2 distinct ids, the largest 7, became 0 … 1 in ascending order."],
    },
    documents.Prediction: {
        "generator": "stencil",
        "params": {"points": 5, "nx": 300, "ny": 300, "nz": 1},
        "nnz": 448800,
        "bytes": 5385600,
    },
    documents.CollectionEntry: {
        "id": "HB/bcsstk16",
        "group": "HB",
        "name": "bcsstk16",
        "rows": 4884,
        "cols": 4884,
        "nnz": 290378,
        "entries": 290378,
        "real": True,
        "binary": False,
        "spd": True,
        "symmetric": True,
        "kind": None,
        "about_bytes": 1161512,
    },
    documents.CollectionIndex: {
        "is_complete": False,
        "is_on": True,
        "count": 69,
        "address": None,
        "sha256": None,
        "fetched_at": None,
    },
    documents.Job: {
        "id": JOB_ID,
        "study": "formats",
        "matrix_ids": [MATRIX_ID],
        "params": {"caches": ["warm"], "rounds": 15},
        "device": "cuda:0",
        "state": "queued",
        "attempt": 0,
        "progress": {"done": 0.0, "total": 14, "message": "", "interim": []},
        "queue_position": 1,
        "waiting_reason": None,
        "lease_expired": False,
        "stopped_early": False,
        "estimate_s": 12.5,
        "error": None,
        "retry_of": None,
        "tags": ["nightly"],
        "note": "After the driver's update.",
        "created_at": CREATED_AT,
        "started_at": None,
        "finished_at": None,
        "links": {"self": f"/api/v1/jobs/{JOB_ID}", "cancel": f"/api/v1/jobs/{JOB_ID}/cancel"},
    },
    history_documents.CaseHistory: {
        "case": MEASUREMENT.case,
        "kernel": MEASUREMENT.kernel,
        "axes": {},
        "noise": 0.0041,
        "searched": True,
        "change_points": [
            {
                "job_id": JOB_ID,
                "measured_at": CREATED_AT,
                "verdict": "slower",
                "before_s": 2.02e-5,
                "after_s": 2.1e-5,
                "ratio": 0.962,
                "reason": "slowdown 1.04\u202f×; confidence intervals and rounds do not overlap.",
                "changed": [{"name": "driver", "before": "580.1", "after": "590.2"}],
            }
        ],
        "measurements": [
            {
                "job_id": JOB_ID,
                "measured_at": CREATED_AT,
                "median_s": 2.1e-5,
                "ci_low_s": 2.08e-5,
                "ci_high_s": 2.13e-5,
                "rounds": 15,
                "min_s": 2.05e-5,
                "max_s": 2.31e-5,
                "level_s": 2.1e-5,
                "busy": False,
                "changed": [{"name": "driver", "before": "580.1", "after": "590.2"}],
            }
        ],
    },
    result_documents.Finding: RESULTS["verdicts"][0],
    result_documents.Results: RESULTS,
    documents.Device: {
        "id": "cuda:0",
        "backend": "cuda",
        "name": "NVIDIA H200",
        "memory_bytes": 150754820096,
        "cache_bytes": 62914560,
        "uuid": "GPU-0d7a4c3e-5b1f-4c55-9a44-2f0b6a1c7d11",
        "details": {"driver": "580.82"},
        "hosts": [],
        "recorded": False,
        "alive": True,
        "fault": None,
        "seen_at": CREATED_AT,
        "profile": None,
    },
    documents.Study: {
        "name": "formats",
        "question": "Which format and kernel is fastest, and how close is it to the roofline?",
        "params": {"type": "object", "properties": {"rounds": {"type": "integer", "default": 15}}},
    },
    documents.Generator: {
        "name": "stencil",
        "summary": "The matrix of a stencil on a grid.",
        "params": {"type": "object", "properties": {"nx": {"type": "integer", "default": 64}}},
    },
    documents.StorageFormat: {
        "name": "csr",
        "title": "Compressed sparse rows",
        "summary": "Nonzeros of all rows in sequence, with the start of each row.",
        "is_library": False,
        "kernels": [
            {
                "name": "csr/vector",
                "variant": "vector",
                "summary": "Each row is processed by a group of threads of a warp.",
                "backends": ["cpu", "cuda"],
            }
        ],
    },
    documents.FigureEntry: {
        "name": "formats",
        "title": "Throughput per kernel and roofline",
        "needs": "measurements",
        "parameters": ["job", "matrix", "device", "kernel", "cache", "baseline", "pair"],
        "href": "/api/v1/figures/formats",
    },
    documents.PlotlyFigure: {
        "data": [{"type": "bar", "name": "csr/vector", "x": [306.3], "y": ["csr/vector"]}],
        "layout": {"xaxis": {"title": {"text": "GFLOP/s"}}},
    },
    documents.AuditEntry: {
        "at": CREATED_AT,
        "who": "ci",
        "action": "POST /api/v1/jobs",
        "target": f"/api/v1/jobs/{JOB_ID}",
        "address": "192.0.2.7",
        "status": 202,
    },
    documents.Health: {"status": "ok"},
}
