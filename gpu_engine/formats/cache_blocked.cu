#include "packed.cuh"
#include "tiles.cuh"

/// Bit of a segment's row: no earlier block of columns has nonzeros of the row, so its sum is stored instead of added.
constexpr unsigned FIRST = 0x80000000u;

/// The entries of the block's tile, packed.
template <int BYTES> struct BlockEntries {
  Packed<BYTES> packed;

  template <int ITEMS>
  __device__ __forceinline__ void load(long long begin, int mine, int count, int (&columns)[ITEMS],
                                       double (&factors)[ITEMS]) const {
    packed.template load<WARP>(blockIdx.x, begin, mine, count, columns, factors);
  }
};

/// A row of y and what it holds before the block of columns; y is read and written once per block, past the cache of x.
struct RowOfY {
  unsigned row;
  double before;

  __device__ __forceinline__ void load(unsigned flagged, const double *y) {
    row = flagged & ~FIRST;
    before = flagged & FIRST ? 0.0 : __ldcs(y + row);
  }
  __device__ __forceinline__ void add(double sum, double *y) const { __stcs(y + row, before + sum); }
};

/// The Rows of multiply_tile that add the sum of each segment to its row of y.
struct Segments {
  const unsigned *__restrict__ rows;
  double *y;
  RowOfY asked, current;

  __device__ __forceinline__ void ask(int segment) { asked.load(stream(rows + segment), y); }
  __device__ __forceinline__ void turn() { current = asked; }
  __device__ __forceinline__ void take(int, double sum) { current.add(sum, y); }
};

/// y := y + A·x of one block of columns, but for the segments that borders cut; a thread block per tile of at most
/// THREADS·ITEMS nonzeros. first_sums is null where borders cut no segment, else cache_blocked_join follows.
template <typename Pointer, int THREADS, int ITEMS, int BYTES>
__global__ void __launch_bounds__(THREADS)
    cache_blocked_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
                       const Pointer *__restrict__ starts, const unsigned *__restrict__ rows,
                       const int *__restrict__ bases, const long long *__restrict__ places,
                       const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                       const void *__restrict__ values, const double *__restrict__ table, const double *__restrict__ x,
                       double *y, double *__restrict__ first_sums, double *__restrict__ last_sums) {
  await_previous();
  if (first_sums) let_next_start();
  const BlockEntries<BYTES> entries{{bases, places, narrow, wide, values, table}};
  multiply_tile<Pointer, THREADS, ITEMS, true>(
      borders, first_rows, starts, entries, [x](int column) { return __ldg(x + column); }, first_sums, last_sums,
      Segments{rows, y, {}, {}});
}

/// Adds the sums of the segments that borders cut to y, a warp a segment.
__global__ void cache_blocked_join(int n_cut, const int *__restrict__ segments, const int *__restrict__ first_tiles,
                                   const int *__restrict__ last_tiles, const double *__restrict__ first_sums,
                                   const double *__restrict__ last_sums, const unsigned *__restrict__ rows, double *y) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  if (number >= n_cut) return;
  const unsigned row = rows[segments[number]];
  const int first = first_tiles[number], last = last_tiles[number];
  await_previous();
  const double total = join_parts(first, last, first_sums, last_sums);
  if (threadIdx.x % WARP) return;
  RowOfY one;
  one.load(row, y);
  one.add(total, y);
}
