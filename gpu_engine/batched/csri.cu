#include "batch.cuh"

/// y := A·x; warp k of a block with W takes entries [k·n/W, (k+1)·n/W) of the n of its problem, its lanes 32 at a time.
/// A lane steps through the row pointers from its last row on. Lanes keep their sum while the whole warp stays in its
/// rows.
template <bool ADDS, bool EVERY>
__global__ void __launch_bounds__(1024)
    batched_warp(int room, const long long *__restrict__ rows, const long long *__restrict__ cols,
                 const long long *__restrict__ entries, const int *__restrict__ first_rows,
                 const int *__restrict__ all_indptr, const int *__restrict__ all_indices,
                 const double *__restrict__ all_values, const double *__restrict__ x, double *__restrict__ y) {
  const long long problem = blockIdx.x;
  const int n_rows = (int)(rows[problem + 1] - rows[problem]);
  double *sums = y + rows[problem];
  if constexpr (!ADDS)
    for (int row = threadIdx.x; row < n_rows; row += blockDim.x)
      sums[row] = 0.0;
  const int n_cols = (int)(cols[problem + 1] - cols[problem]);

  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  const long long nnz = entries[problem + 1] - entries[problem];
  const int *indptr = all_indptr + rows[problem] + problem, *indices = all_indices + entries[problem];
  const double *values = all_values + entries[problem];
  stage<EVERY>(x + cols[problem], n_cols, room, [&](const auto &mine) {
    int row = NO_ROW, own = nnz ? first_rows[problem * warps + warp] : 0;
    int row_end = nnz ? __ldg(indptr + own + 1) : 0;
    double total = 0.0;
    const int end = (int)(nnz * (warp + 1) / warps);
    for (int begin = (int)(nnz * warp / warps); begin < end; begin += WARP) {
      const int entry = begin + lane;
      const bool inside = entry < end;
      const int column = inside ? stream(indices + entry) : 0;
      const double value = inside ? stream(values + entry) : 0.0;
      while (inside && entry >= row_end)
        row_end = __ldg(indptr + ++own + 1);
      const int next = inside ? own : NO_ROW;
      const bool moved = row != NO_ROW && next != row;
      if (__any_sync(FULL_WARP, moved)) {
        add_runs(row, total, sums);
        total = 0.0;
      }
      row = next;
      if (inside) total += value * mine(column);
    }
    add_runs(row, total, sums);
  });
}
