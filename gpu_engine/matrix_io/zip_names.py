"""Recognizes zip archives without a matrix by the names of their members, and tells what to do."""

import re

from gpu_engine.errors import MatrixFileError, quote

SAVE = "Save the matrix with scipy.sparse.save_npz."
KINDS = (
    (r"(.*/)?data\.pkl", f"This is a PyTorch file, which is a pickle: it is never loaded. {SAVE}"),
    (
        r"xl/.*",
        "This is an Excel workbook. Save the sheet as CSV, with a line 'source,target' or 'source,target,weight'.",
    ),
    (r"word/.*|ppt/.*", "This is an Office document, not a matrix. Upload the matrix as Matrix Market text."),
    (r"META-INF/MANIFEST\.MF", "This is a Java archive, not a matrix. Upload the matrix as Matrix Market text."),
    (r"(.*/)?\.zgroup|(.*/)?zarr\.json", f"This is a Zarr store. {SAVE}"),
    (r"content\.xml", "This is an OpenDocument file. Save the sheet as CSV, with a line 'source,target,weight'."),
)


def refusal(names: list[str]) -> MatrixFileError:
    """Return the error of an archive with these members."""
    for pattern, words in KINDS:
        if any(re.fullmatch(pattern, name) for name in names):
            return MatrixFileError(words)
    members = ", ".join(quote(name.removesuffix(".npy")) for name in names[:3]) + (" …" if len(names) > 3 else "")
    if any(name.endswith(".npy") for name in names):
        return MatrixFileError(
            f"The .npz file holds {members} and no sparse matrix. Save that with "
            "scipy.sparse.save_npz(file, scipy.sparse.csr_array(A))."
        )
    return MatrixFileError(
        f"This zip archive holds {members} and no sparse matrix. Unpack it and upload the matrix file."
    )
