#pragma once
#include "common.cuh"

/// Row of an entry, which lies in [low, high]: the last one that begins at or before it.
template <typename Pointer>
__device__ __forceinline__ int row_of(Pointer entry, int low, int high, const Pointer *__restrict__ indptr) {
  while (low < high) {
    const int middle = high - (high - low) / 2;
    if (indptr[middle] <= entry)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}
