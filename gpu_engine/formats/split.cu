#include "product.cuh"

/// The entries of a tile as CSR stores them.
struct PlainEntries {
  const int *__restrict__ indices;
  const double *__restrict__ values;

  template <int ITEMS>
  __device__ __forceinline__ void load(long long begin, int mine, int count, int (&columns)[ITEMS],
                                       double (&factors)[ITEMS]) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int place = mine + item * WARP;
      columns[item] = place < count ? stream(indices + begin + place) : -1;
      factors[item] = place < count ? stream(values + begin + place) : 0.0;
    }
  }
};

/// y := A·x but for cut rows, a block a tile of at most THREADS·ITEMS entries: multiply_plain_tile, then join_cut_rows.
template <typename Pointer, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    split_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
               const Pointer *__restrict__ indptr, const int *__restrict__ indices, const double *__restrict__ values,
               const double *__restrict__ x, double *__restrict__ y, double *__restrict__ heads,
               double *__restrict__ tails) {
  multiply_plain_tile<Pointer, THREADS, ITEMS>(borders, first_rows, indptr, PlainEntries{indices, values}, x, y, heads,
                                               tails);
}
