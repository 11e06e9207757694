#pragma once
#include "common.cuh"

/// x of the block's problem, in shared memory where STAGED. What the block wrote before is seen by all of it after.
template <bool STAGED> __device__ __forceinline__ const double *stage(const double *__restrict__ x, int n_cols) {
  extern __shared__ double staged[];
  if constexpr (STAGED)
    for (int column = threadIdx.x; column < n_cols; column += blockDim.x)
      staged[column] = __ldg(x + column);
  __syncthreads();
  return STAGED ? staged : x;
}
