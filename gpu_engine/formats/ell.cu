#include "slots.cuh"

/// y[row] = Σ values·x over all slots, or that and y[row] where it ADDS; one thread a row, AHEAD slots in flight.
/// Arrays are [width, n_rows], a padded slot has column −1.
template <bool ADDS, int AHEAD>
__global__ void ell_thread(int n_rows, int width, const int *__restrict__ columns, const double *__restrict__ values,
                           const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  let_next_start();
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  const double total = sum_plain_slots<AHEAD, true>(width, row, n_rows, columns, values, x);
  y[row] = ADDS ? y[row] + total : total;
}
