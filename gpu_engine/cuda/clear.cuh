#pragma once
#include "common.cuh"

/// y := 0, before a kernel that adds to it and follows, and which starts once the kernel before this one has ended.
__global__ void clear(long long n_rows, double *__restrict__ y) {
  await_previous();
  let_next_start();
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += step)
    y[row] = 0.0;
}
