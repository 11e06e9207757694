#include "common.cuh"

/// y += A·x for entries sorted by row; a warp takes 32·steps consecutive entries, its lanes 32 at a time. Lanes keep
/// their sum while the whole warp stays in its rows.
__global__ void coo_segmented(long long nnz, int steps, const int *__restrict__ rows, const int *__restrict__ columns,
                              const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const int lane = threadIdx.x % WARP;
  const long long warp = (long long)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  const long long begin = warp * WARP * steps;
  if (begin >= nnz) return;
  int row = NO_ROW;
  double total = 0.0;
  for (int step = 0; step < steps; ++step) {
    const long long entry = begin + step * WARP + lane;
    const bool inside = entry < nnz;
    const int next = inside ? stream(rows + entry) : NO_ROW;
    const bool moved = row != NO_ROW && next != row;
    if (__any_sync(FULL_WARP, moved)) {
      add_runs(row, total, y);
      total = 0.0;
    }
    row = next;
    if (inside) total += stream(values + entry) * __ldg(x + stream(columns + entry));
  }
  add_runs(row, total, y);
}
