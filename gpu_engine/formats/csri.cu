#include "clear.cuh"
#include "rows.cuh"

/// y += A·x; warp k of `parts` takes entries [k·nnz/parts, (k+1)·nnz/parts), its lanes 32 at a time. Lanes keep their
/// sum while the whole warp stays in its rows. y is zero once the kernel before this one has ended.
template <typename Pointer>
__global__ void csri_warp(long long nnz, int parts, int n_rows, const int *__restrict__ first_rows,
                          const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                          const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const int lane = threadIdx.x % WARP;
  const long long part = (long long)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  if (part >= parts) return;
  const long long end = (part + 1) * nnz / parts;
  int low = first_rows[part];
  const int high = part + 1 < parts ? first_rows[part + 1] : n_rows - 1;
  int row = NO_ROW;
  double total = 0.0;
  for (long long begin = part * nnz / parts; begin < end; begin += WARP) {
    const long long entry = begin + lane;
    const bool inside = entry < end;
    const int next = inside ? row_of((Pointer)entry, low, high, indptr) : NO_ROW;
    const bool moved = row != NO_ROW && next != row;
    if (__any_sync(FULL_WARP, moved)) {
      await_previous();
      add_runs(row, total, y);
      total = 0.0;
    }
    row = next;
    low = __shfl_sync(FULL_WARP, next, WARP - 1);
    if (inside) total += stream(values + entry) * __ldg(x + stream(indices + entry));
  }
  await_previous();
  add_runs(row, total, y);
}
