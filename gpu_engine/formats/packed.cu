#include "packed.cuh"
#include "product.cuh"

/// The entries of the block's tile, packed.
template <int BYTES> struct PackedEntries {
  Packed<BYTES> packed;

  template <int ITEMS>
  __device__ __forceinline__ void load(long long begin, int mine, int count, int (&columns)[ITEMS],
                                       double (&factors)[ITEMS]) const {
    packed.template load<WARP>(blockIdx.x, begin, mine, count, columns, factors);
  }
};

/// y := A·x but for cut rows, a block a tile of at most THREADS·ITEMS entries: multiply_plain_tile, then join_cut_rows.
template <typename Pointer, int THREADS, int ITEMS, int BYTES>
__global__ void __launch_bounds__(THREADS)
    packed_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
                const Pointer *__restrict__ indptr, const int *__restrict__ bases, const long long *__restrict__ places,
                const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                const void *__restrict__ values, const double *__restrict__ table, const double *__restrict__ x,
                double *__restrict__ y, double *__restrict__ first_sums, double *__restrict__ last_sums) {
  const PackedEntries<BYTES> entries{{bases, places, narrow, wide, values, table}};
  multiply_plain_tile<Pointer, THREADS, ITEMS>(borders, first_rows, indptr, entries, x, y, first_sums, last_sums);
}
