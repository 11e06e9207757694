#include "common.cuh"

/// y[permutation[p]] = sum of the row at place p, one thread a row, AHEAD diagonals in flight. Diagonals become ever
/// shorter: the first one that does not reach p ends its row.
template <typename Pointer, int AHEAD>
__global__ void jad_thread(int n_rows, int n_diagonals, const Pointer *__restrict__ diagonals,
                           const int *__restrict__ columns, const double *__restrict__ values,
                           const int *__restrict__ permutation, const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  double total = 0.0;
  bool reached = true;
  for (int slot = 0; slot < n_diagonals && reached; slot += AHEAD) {
    int column[AHEAD];
    double factors[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      // After the last diagonal comes one without entries.
      const Pointer begin = __ldg(diagonals + min(slot + item, n_diagonals));
      const Pointer end = __ldg(diagonals + min(slot + item + 1, n_diagonals));
      reached = place < end - begin;
      column[item] = reached ? stream(columns + begin + place) : -1;
      factors[item] = reached ? stream(values + begin + place) : 0.0;
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (column[item] >= 0) total += factors[item] * __ldg(x + column[item]);
  }
  y[permutation[place]] = total;
}
