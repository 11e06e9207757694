#pragma once

constexpr unsigned FULL_WARP = 0xffffffffu;
constexpr int WARP = 32;

/// Lets the kernel that follows this one in its stream start while blocks of this one still run, once all of them have
/// come here (programmatic dependent launch). Nothing happens unless that kernel was launched to follow.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the kernel before this one in its stream has ended and what it wrote can be read. What was launched to
/// follow calls it in every block, before it touches anything that another kernel may write.
__device__ __forceinline__ void await_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Loads an element that is read once, without keeping it in the caches that x needs.
template <typename T> __device__ __forceinline__ T stream(const T *address) {
  return __ldcs(address);
}

/// Sum over aligned groups of `LANES` consecutive lanes; the first lane of each group holds it.
template <int LANES> __device__ __forceinline__ double sum_lanes(double value) {
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(FULL_WARP, value, offset, LANES);
  return value;
}

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
