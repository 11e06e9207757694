#pragma once
#include "tiles.cuh"

/// Sums of rows that are y.
struct Product {
  double *__restrict__ y;
  __device__ __forceinline__ void ask(int) {}
  __device__ __forceinline__ void take(int row, double sum) { y[row] = sum; }
};

/// y := A·x but for the rows that borders cut.
template <typename Pointer, int THREADS, int ITEMS, typename Entries>
__device__ __forceinline__ void
multiply_plain_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
                    const Pointer *__restrict__ indptr, const Entries &entries, const double *__restrict__ x,
                    double *__restrict__ y, double *__restrict__ heads, double *__restrict__ tails) {
  multiply_tile<Pointer, THREADS, ITEMS, false>(
      borders, first_rows, indptr, entries, [x](int column) { return __ldg(x + column); }, heads, tails, Product{y});
}

/// y of the rows that borders cut, a warp a row.
__global__ void join_cut_rows(int n_cut, const int *__restrict__ rows, const int *__restrict__ first_tiles,
                              const int *__restrict__ last_tiles, const double *__restrict__ heads,
                              const double *__restrict__ tails, double *__restrict__ y) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  if (number >= n_cut) return;
  const double total = join_parts(first_tiles[number], last_tiles[number], heads, tails);
  if (threadIdx.x % WARP == 0) y[rows[number]] = total;
}
