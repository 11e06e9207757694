#include "slots.cuh"

/// y[permutation[p]] = sum of the row at place p, one thread a row, AHEAD slots in flight; columns and values are
/// [width, n_rows]. GROUP rows share a length, that of the first and longest of them: lanes run over the padding of the
/// others, whose column is −1.
template <int GROUP, int AHEAD>
__global__ void pellr(int n_rows, const int *__restrict__ lengths, const int *__restrict__ columns,
                      const double *__restrict__ values, const int *__restrict__ permutation,
                      const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  y[permutation[place]] = sum_plain_slots<AHEAD>(lengths[place / GROUP], place, n_rows, columns, values, x);
}

/// The same by slices of a warp: slice s is the lines lines[s] … lines[s + 1] − 1, each a slot of all its rows.
template <int AHEAD>
__global__ void pellr_sliced(int n_rows, const int *__restrict__ lines, const int *__restrict__ columns,
                             const double *__restrict__ values, const int *__restrict__ permutation,
                             const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  const int begin = __ldg(lines + place / WARP), end = __ldg(lines + place / WARP + 1);
  const long long first = (long long)begin * WARP + place % WARP;
  y[permutation[place]] = sum_plain_slots<AHEAD>(end - begin, first, WARP, columns, values, x);
}
