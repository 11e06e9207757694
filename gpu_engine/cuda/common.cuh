#pragma once

constexpr unsigned FULL_WARP = 0xffffffffu;
constexpr int WARP = 32;

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
