#include "batch.cuh"

/// y := A·x of a problem whose entries are sorted by row; each warp takes an equal share of them, its lanes 32 at a
/// time. Lanes keep their sum while the whole warp stays in its rows.
template <bool ADDS, bool EVERY>
__global__ void __launch_bounds__(1024)
    batched_segmented(int room, const long long *__restrict__ row_begins, const long long *__restrict__ col_begins,
                      const long long *__restrict__ entries, const int *__restrict__ row_indices,
                      const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                      double *__restrict__ y) {
  const int problem = blockIdx.x;
  const int n_rows = (int)(row_begins[problem + 1] - row_begins[problem]);
  double *sums = y + row_begins[problem];
  if constexpr (!ADDS)
    for (int row = threadIdx.x; row < n_rows; row += blockDim.x)
      sums[row] = 0.0;
  const int n_cols = (int)(col_begins[problem + 1] - col_begins[problem]);
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  const long long first = entries[problem], nnz = entries[problem + 1] - first;
  const long long begin = first + nnz * warp / warps;
  const int share = (int)(first + nnz * (warp + 1) / warps - begin);
  const int *own_rows = row_indices + begin, *own_columns = indices + begin;
  const double *own_values = values + begin;
  stage<EVERY>(x + col_begins[problem], n_cols, room, [&](const auto &mine) {
    int row = NO_ROW;
    double total = 0.0;
    // Unrolled, the scan would spill.
#pragma unroll 1
    for (int done = 0; done < share; done += WARP) {
      const int entry = done + lane;
      const bool inside = entry < share;
      const int next = inside ? stream(own_rows + entry) : NO_ROW;
      const int column = inside ? stream(own_columns + entry) : 0;
      double product = inside ? stream(own_values + entry) : 0.0;
      if (inside) product *= mine(column);
      const bool moved = row != NO_ROW && next != row;
      if (__any_sync(FULL_WARP, moved)) {
        add_runs(row, total, sums);
        total = 0.0;
      }
      row = next;
      total += product;
    }
    add_runs(row, total, sums);
  });
}
