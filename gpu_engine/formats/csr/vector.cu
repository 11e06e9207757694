#include "common.cuh"

/// y[row] = Σ values·x over the row, `LANES` consecutive threads a row.
template <typename Pointer, int LANES>
__global__ void csr_vector(int n_rows, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                           const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int row = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
  const int lane = threadIdx.x % LANES;
  double total = 0.0;
  if (row < n_rows) {
    const Pointer end = indptr[row + 1];
    for (Pointer entry = indptr[row] + lane; entry < end; entry += LANES)
      total += stream(values + entry) * __ldg(x + stream(indices + entry));
  }
  total = sum_lanes<LANES>(total);
  if (row < n_rows && lane == 0) y[row] = total;
}
