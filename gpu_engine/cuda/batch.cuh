#pragma once
#include "common.cuh"

/// x of a problem, in shared memory or in global memory.
struct Staged {
  const double *x;
  __device__ __forceinline__ double operator()(int column) const { return x[column]; }
};

struct Unstaged {
  const double *__restrict__ x;
  __device__ __forceinline__ double operator()(int column) const { return __ldg(x + column); }
};

/// Calls multiply with x of the block's problem, which is copied into shared memory where it has at most `room`
/// columns, as EVERY problem has or only some. What the block wrote before is seen by all of it after.
template <bool EVERY, typename Multiply>
__device__ __forceinline__ void stage(const double *__restrict__ x, int n_cols, int room, const Multiply &multiply) {
  extern __shared__ double staged[];
  const bool fits = EVERY || n_cols <= room;
  if (fits)
    for (int column = threadIdx.x; column < n_cols; column += blockDim.x)
      staged[column] = __ldg(x + column);
  __syncthreads();
  if (fits)
    multiply(Staged{staged});
  else
    multiply(Unstaged{x});
}
