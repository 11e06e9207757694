#include "common.cuh"

/// y[permutation[p]] = sum of the row at place p, one thread a row. Diagonals become ever shorter: the first one that
/// does not reach p ends its row.
template <typename Pointer>
__global__ void jad_thread(int n_rows, int n_diagonals, const Pointer *__restrict__ diagonals,
                           const int *__restrict__ columns, const double *__restrict__ values,
                           const int *__restrict__ permutation, const double *__restrict__ x, double *__restrict__ y) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  double total = 0.0;
  Pointer begin = 0;
  for (int slot = 0; slot < n_diagonals; ++slot) {
    const Pointer end = __ldg(diagonals + slot + 1);
    if (place >= end - begin) break;
    const Pointer at = begin + place;
    total += stream(values + at) * __ldg(x + stream(columns + at));
    begin = end;
  }
  y[permutation[place]] = total;
}
