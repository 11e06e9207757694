#include "slots.cuh"

/// y[row] = Σ values·x over the first lengths[row] slots, one thread a row, AHEAD slots in flight; columns and values
/// are [width, n_rows].
template <int AHEAD>
__global__ void ellr_thread(int n_rows, const int *__restrict__ lengths, const int *__restrict__ columns,
                            const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n_rows) y[row] = sum_plain_slots<AHEAD>(lengths[row], row, n_rows, columns, values, x);
}
