#include "clear.cuh"

/// Steps whose entries are loaded before the first of them is added.
constexpr int AHEAD = 2;

/// y += A·x for entries sorted by row; a warp takes 32·steps consecutive entries, its lanes 32 at a time. Lanes keep
/// their sum while the whole warp stays in its rows. It may follow what writes y, and nothing that writes the others.
__global__ void coo_segmented(long long nnz, int steps, const int *__restrict__ rows, const int *__restrict__ columns,
                              const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const int lane = threadIdx.x % WARP;
  const long long warp = (long long)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  const long long begin = warp * WARP * steps;
  if (begin >= nnz) return;
  int row = NO_ROW;
  double total = 0.0;
  for (int step = 0; step < steps; step += AHEAD) {
    int next[AHEAD], column[AHEAD];
    double product[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      const long long entry = begin + (step + item) * WARP + lane;
      const bool inside = step + item < steps && entry < nnz;
      next[item] = inside ? stream(rows + entry) : NO_ROW;
      column[item] = inside ? stream(columns + entry) : -1;
      product[item] = inside ? stream(values + entry) : 0.0;
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (column[item] >= 0) product[item] *= __ldg(x + column[item]);
    if (step == 0) await_previous();
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      const bool moved = row != NO_ROW && next[item] != row;
      if (__any_sync(FULL_WARP, moved)) {
        add_runs(row, total, y);
        total = 0.0;
      }
      row = next[item];
      total += product[item];
    }
  }
  add_runs(row, total, y);
}
