#include "clear.cuh"

/// y += A·x by columns, `LANES` consecutive threads a column. y is zero once the kernel before this one has ended.
template <typename Pointer, int LANES>
__global__ void csc_atomic(int n_cols, const Pointer *__restrict__ indptr, const int *__restrict__ rows,
                           const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const int column = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
  if (column >= n_cols) return;
  const double factor = x[column];
  const Pointer begin = indptr[column], end = indptr[column + 1];
  await_previous();
  for (Pointer entry = begin + threadIdx.x % LANES; entry < end; entry += LANES)
    atomicAdd(y + stream(rows + entry), stream(values + entry) * factor);
}
