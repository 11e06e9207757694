#include "slots.cuh"

constexpr int GROUPS = 6;

/// y[permutation[p]] = sum of the row at place p; a warp takes a strip of 32 places. Group g holds 32 >> g rows, so a
/// lane meets row lane mod (32 >> g) in every line of it, and g folds by halves leave each row's sum in its lane. AHEAD
/// lines are in flight.
template <int AHEAD>
__global__ void biell_warp(int n_rows, const int *__restrict__ lines, const int *__restrict__ columns,
                           const double *__restrict__ values, const int *__restrict__ permutation,
                           const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int lane = threadIdx.x % WARP;
  const int strip = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  if (strip >= n_rows / WARP + (n_rows % WARP != 0)) return;
  const int *first = lines + (long long)strip * GROUPS;
  double total = 0.0;
#pragma unroll
  for (int group = 0; group < GROUPS; ++group) {
    const int height = WARP >> group;
    const int begin = __ldg(first + group), end = __ldg(first + group + 1);
    if (begin == end) continue;
    double sum = sum_plain_slots<AHEAD, true>(end - begin, (long long)begin * WARP + lane, WARP, columns, values, x);
#pragma unroll
    for (int half = WARP / 2; half >= height; half /= 2)
      sum += __shfl_down_sync(FULL_WARP, sum, half);
    if (lane < height) total += sum;
  }
  const int place = strip * WARP + lane;
  if (place < n_rows) y[permutation[place]] = total;
}
