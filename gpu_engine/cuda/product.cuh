#pragma once
#include "tiles.cuh"

/// The Rows of multiply_tile that store the sum of each row in y as it is.
struct Product {
  double *__restrict__ y;
  __device__ __forceinline__ void ask(int) {}
  __device__ __forceinline__ void take(int row, double sum) { y[row] = sum; }
};

/// y := A·x but for the rows that borders cut; first_sums is null where they cut none. Only join_cut_rows is let start
/// early: blocks of another product would settle where there is room now, and crowd there.
template <typename Pointer, int THREADS, int ITEMS, typename Entries>
__device__ __forceinline__ void
multiply_plain_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
                    const Pointer *__restrict__ indptr, const Entries &entries, const double *__restrict__ x,
                    double *__restrict__ y, double *__restrict__ first_sums, double *__restrict__ last_sums) {
  await_previous();
  if (first_sums) let_next_start();
  multiply_tile<Pointer, THREADS, ITEMS, false>(
      borders, first_rows, indptr, entries, [x](int column) { return __ldg(x + column); }, first_sums, last_sums,
      Product{y});
}

/// y of the rows that borders cut, a warp a row. It may follow the kernel of the tiles.
__global__ void join_cut_rows(int n_cut, const int *__restrict__ rows, const int *__restrict__ first_tiles,
                              const int *__restrict__ last_tiles, const double *__restrict__ first_sums,
                              const double *__restrict__ last_sums, double *__restrict__ y) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  if (number >= n_cut) return;
  const int row = rows[number], first = first_tiles[number], last = last_tiles[number];
  await_previous();
  const double total = join_parts(first, last, first_sums, last_sums);
  if (threadIdx.x % WARP == 0) y[row] = total;
}
