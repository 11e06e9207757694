#pragma once
#include "common.cuh"

/// Σ values·x over the first `length` slots of the row at `place` of columns and values [width, n_rows]. AHEAD slots
/// are in flight: a thread that waits for each x before it asks for the next slot takes three times as long where few
/// rows are long.
template <int AHEAD>
__device__ __forceinline__ double sum_slots(int length, int place, int n_rows, const int *__restrict__ columns,
                                            const double *__restrict__ values, const double *__restrict__ x) {
  double total = 0.0;
  for (int slot = 0; slot < length; slot += AHEAD) {
    int column[AHEAD];
    double factor[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      const long long at = (long long)(slot + item) * n_rows + place;
      column[item] = slot + item < length ? stream(columns + at) : -1;
      factor[item] = slot + item < length ? stream(values + at) : 0.0;
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (column[item] >= 0) total += factor[item] * __ldg(x + column[item]);
  }
  return total;
}
