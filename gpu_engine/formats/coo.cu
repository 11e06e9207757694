#include "common.cuh"

/// Row of a lane that has no entry: equal rows must be neighbours, so a lane past the end may not keep its last one.
constexpr int NO_ROW = -1;

/// Adds `total` to y[row] once per run of equal rows in the warp: an inclusive segmented scan from the left, then one
/// atomic by the last lane of each run. Rows ascend over the lanes.
__device__ __forceinline__ void add_runs(int row, double total, double *__restrict__ y) {
  const int lane = threadIdx.x % WARP;
#pragma unroll
  for (int offset = 1; offset < WARP; offset *= 2) {
    const double left = __shfl_up_sync(FULL_WARP, total, offset);
    const int left_row = __shfl_up_sync(FULL_WARP, row, offset);
    if (lane >= offset && left_row == row) total += left;
  }
  const int right_row = __shfl_down_sync(FULL_WARP, row, 1);
  if (row != NO_ROW && (lane == WARP - 1 || right_row != row)) atomicAdd(y + row, total);
}

/// y += A·x for entries sorted by row; a warp takes 32·steps consecutive entries, its lanes 32 at a time. Lanes keep
/// their sum while the whole warp stays in its rows. y is zero on entry.
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
