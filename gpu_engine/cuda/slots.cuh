#pragma once
#include "common.cuh"

/// Σ factor(slot)·gather(column) over a row of `length` slots, the first at `first`, the next each `step` further.
/// AHEAD slots are in flight: a thread that waits for each x before it asks for the next slot takes three times as long
/// where few rows are long. A column of −1 is padding: it gathers nothing, and where many slots are PADDED a factor is
/// asked for with its x, once the column is known.
template <int AHEAD, bool PADDED = false, typename Factor, typename Gather>
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
      if constexpr (!PADDED) factors[item] = slot + item < length ? factor(at) : 0.0;
    }
    if constexpr (PADDED) {
#pragma unroll
      for (int item = 0; item < AHEAD; ++item)
        factors[item] = column[item] >= 0 ? factor(first + (slot + item) * step) : 0.0;
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (column[item] >= 0) total += factors[item] * gather(column[item]);
  }
  return total;
}

/// The same of values and x that lie as they are.
template <int AHEAD, bool PADDED = false>
__device__ __forceinline__ double sum_plain_slots(int length, long long first, long long step,
                                                  const int *__restrict__ columns, const double *__restrict__ values,
                                                  const double *__restrict__ x) {
  return sum_slots<AHEAD, PADDED>(
      length, first, step, columns, [values](long long at) { return stream(values + at); },
      [x](int column) { return __ldg(x + column); });
}
