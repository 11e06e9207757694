#include "common.cuh"

/// y[row] = Σ values·x over the row, one thread a row.
template <typename Pointer>
__global__ void csr_scalar(int n_rows, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                           const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  const Pointer end = indptr[row + 1];
  double total = 0.0;
  for (Pointer entry = indptr[row]; entry < end; ++entry)
    total += values[entry] * __ldg(x + indices[entry]);
  y[row] = total;
}
