#pragma once
#include "common.cuh"

/// Σ factor(slot)·gather(column) over a row of `length` slots, the first at `first`, the next each `step` further.
/// AHEAD slots are in flight: a thread that waits for each x before it asks for the next slot takes three times as long
/// where few rows are long. A column of −1 is padding.
template <int AHEAD, typename Factor, typename Gather>
__device__ __forceinline__ double sum_slots(int length, long long first, long long step,
                                            const int *__restrict__ columns, const Factor &factor,
                                            const Gather &gather) {
  double total = 0.0;
  for (int slot = 0; slot < length; slot += AHEAD) {
    int column[AHEAD];
    double factors[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      const long long at = first + (slot + item) * step;
      column[item] = slot + item < length ? stream(columns + at) : -1;
      factors[item] = slot + item < length ? factor(at) : 0.0;
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (column[item] >= 0) total += factors[item] * gather(column[item]);
  }
  return total;
}

/// The same for the row at `place` of columns and values [width, n_rows].
template <int AHEAD>
__device__ __forceinline__ double sum_slots(int length, int place, int n_rows, const int *__restrict__ columns,
                                            const double *__restrict__ values, const double *__restrict__ x) {
  return sum_slots<AHEAD>(
      length, place, n_rows, columns, [values](long long at) { return stream(values + at); },
      [x](int column) { return __ldg(x + column); });
}
