#include "product.cuh"
#include "tile_entries.cuh"

/// y := A·x but for cut rows, a block a tile of at most THREADS·ITEMS entries: multiply_plain_tile, then join_cut_rows.
template <typename Pointer, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    split_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
               const Pointer *__restrict__ indptr, const int *__restrict__ indices, const double *__restrict__ values,
               const double *__restrict__ x, double *__restrict__ y, double *__restrict__ first_sums,
               double *__restrict__ last_sums) {
  multiply_plain_tile<Pointer, THREADS, ITEMS>(borders, first_rows, indptr, TileEntries<Fp64>{indices, values}, x, y,
                                               first_sums, last_sums);
}
