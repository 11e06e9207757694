#pragma once
#include "common.cuh"

/// Σ factor(link)·gather(column) over a row of CSR that one thread walks, two links in flight. Its next links lie in
/// the sectors that it has just read, so all that it loads stays in the caches.
template <typename Factor, typename Gather>
__device__ __forceinline__ double sum_row(int length, long long begin, const int *__restrict__ columns,
                                          const Factor &factor, const Gather &gather) {
  double total = 0.0;
#pragma unroll 2
  for (int link = 0; link < length; ++link)
    total += factor(begin + link) * gather(__ldg(columns + begin + link));
  return total;
}
