#pragma once
#include "common.cuh"

/// total + error := total + a, exactly (TwoSum).
__device__ __forceinline__ void add(double a, double &total, double &error) {
  const double sum = __dadd_rn(total, a), part = __dsub_rn(sum, total);
  error = __dadd_rn(error, __dadd_rn(__dsub_rn(total, __dsub_rn(sum, part)), __dsub_rn(a, part)));
  total = sum;
}

/// b[row] − Σ values·x over the row in twice the precision, by LANES consecutive threads of a full warp; the first one
/// holds it. Rows from n on are empty.
template <int LANES, typename Pointer>
__device__ __forceinline__ double exact_residual(int row, int n, const Pointer *__restrict__ indptr,
                                                 const int *__restrict__ indices, const double *__restrict__ values,
                                                 const double *x, const double *__restrict__ b) {
  const int lane = threadIdx.x % LANES;
  double total = 0.0, error = 0.0;
  if (row < n) {
    if (lane == 0) total = b[row];
    const Pointer end = indptr[row + 1];
    for (Pointer entry = indptr[row] + lane; entry < end; entry += LANES) {
      const double value = values[entry], other = x[indices[entry]];
      const double product = __dmul_rn(value, other);
      add(-product, total, error);
      error = __dsub_rn(error, __fma_rn(value, other, -product));
    }
  }
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(FULL_WARP, total, offset, LANES);
    const double more = __shfl_down_sync(FULL_WARP, error, offset, LANES);
    add(other, total, error);
    error = __dadd_rn(error, more);
  }
  return __dadd_rn(total, error);
}
