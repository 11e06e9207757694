#include "slots.cuh"

/// All lanes of a warp work to the end, so two slots of each keep the memory busy; four cost a tenth of the speed.
constexpr int SLOTS_AHEAD = 2;

/// y[permutation[p]] = sum of the row at place p, one thread a row, each up to its own length.
__global__ void pellr_thread(int n_rows, const int *__restrict__ lengths, const int *__restrict__ columns,
                             const double *__restrict__ values, const int *__restrict__ permutation,
                             const double *__restrict__ x, double *__restrict__ y) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  y[permutation[place]] = sum_slots<SLOTS_AHEAD>(lengths[place], place, n_rows, columns, values, x);
}

/// The same with one length a warp, that of its first and longest row: lanes run over the padding of the others.
__global__ void pellr_warp(int n_rows, const int *__restrict__ lengths, const int *__restrict__ columns,
                           const double *__restrict__ values, const int *__restrict__ permutation,
                           const double *__restrict__ x, double *__restrict__ y) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= n_rows) return;
  y[permutation[place]] = sum_slots<SLOTS_AHEAD>(lengths[place / WARP * WARP], place, n_rows, columns, values, x);
}
