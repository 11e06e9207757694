#pragma once
#include "common.cuh"

/// Bit of a tile's first row: the row began in an earlier tile.
constexpr unsigned CUT = 0x80000000u;

/// Sum over aligned groups of `lanes` (a power of two) lanes of a full warp; the first lane of each group holds it.
__device__ __forceinline__ double sum_group(double value, int lanes) {
  for (int offset = lanes / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(FULL_WARP, value, offset);
  return value;
}

/// Σ products[from … to), the whole warp at work; every lane holds it.
__device__ __forceinline__ double sum_range(const double *products, int from, int to) {
  double total = 0.0;
  for (int place = from + threadIdx.x % WARP; place < to; place += WARP)
    total += products[place];
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    total += __shfl_xor_sync(FULL_WARP, total, offset);
  return total;
}

/// Entries a lane from which a row waits for the whole warp instead of its own group of lanes.
constexpr int LONG = 16;

/// Sums the rows of the block's tile, but for those that its borders cut: the sum of its entries of these goes to
/// first_sums[tile] (the row began earlier) or last_sums[tile] (it goes on). Tiles as gpu_engine/formats/tiles.py cuts
/// them.
/// entries.load(begin, first place, places, columns, factors) gives those of this lane, column −1 past the end;
/// gather(column) is what an entry is multiplied by. sums.ask(row) is called by one lane a row early, then
/// sums.take(row, sum) by the same lane. Where EARLY, a pass asks for the rows of the next one, and sums.turn()
/// says that it begins: worth the registers where much is asked for.
/// Products wait in shared memory; groups of lanes, as wide as the rows of the tile allow, sum them.
template <typename Pointer, int THREADS, int ITEMS, bool EARLY, typename Entries, typename Gather, typename Rows>
__device__ __forceinline__ void
multiply_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
              const Pointer *__restrict__ indptr, const Entries &entries, const Gather &gather,
              double *__restrict__ first_sums, double *__restrict__ last_sums, Rows &&sums) {
  __shared__ double products[THREADS * ITEMS];
  const int tile = blockIdx.x;
  const Pointer begin = __ldg(borders + tile);
  const int count = (int)(__ldg(borders + tile + 1) - begin);
  const unsigned own = __ldg(first_rows + tile), next = __ldg(first_rows + tile + 1);
  const int mine = threadIdx.x / WARP * WARP * ITEMS + threadIdx.x % WARP;
  int columns[ITEMS];
  double factors[ITEMS];
  entries.load(begin, mine, count, columns, factors);
  const int first = (int)(own & ~CUT);
  const int rows = (int)(next & ~CUT) - first + (next & CUT ? 1 : 0);
  int lanes = 1;
  while (lanes < WARP && 2 * lanes * rows <= THREADS)
    lanes *= 2;
  const int lane = threadIdx.x % lanes, step = THREADS / lanes;
  int number = threadIdx.x / lanes;
  // Asked for here so that the pointers of the first pass arrive together with x.
  Pointer row_begin = 0, row_end = 0;
  if (number < rows) row_begin = __ldg(indptr + first + number), row_end = __ldg(indptr + first + number + 1);
  if (number < rows && lane == 0) sums.ask(first + number);
  if constexpr (EARLY) sums.turn();
#pragma unroll
  for (int item = 0; item < ITEMS; ++item)
    if (columns[item] >= 0) factors[item] *= gather(columns[item]);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item)
    products[mine + item * WARP] = factors[item];
  __syncthreads();
  for (int pass = 0; pass < rows; pass += step, number += step) {
    const bool inside = number < rows;
    if (!EARLY && pass > 0 && inside) {
      row_begin = __ldg(indptr + first + number), row_end = __ldg(indptr + first + number + 1);
      if (lane == 0) sums.ask(first + number);
    }
    Pointer later_begin = 0, later_end = 0;
    if (EARLY && number + step < rows) {
      later_begin = __ldg(indptr + first + number + step), later_end = __ldg(indptr + first + number + step + 1);
      if (lane == 0) sums.ask(first + number + step);
    }
    const bool begins_before = inside && row_begin < begin, ends_after = inside && row_end > begin + count;
    const int from = inside && !begins_before ? (int)(row_begin - begin) : 0;
    const int to = inside ? (ends_after ? count : (int)(row_end - begin)) : 0;
    const bool waits = lanes < WARP && to - from > LONG * lanes;
    double total = 0.0;
    if (!waits)
      for (int place = from + lane; place < to; place += lanes)
        total += products[place];
    total = sum_group(total, lanes);
    for (unsigned waiting = __ballot_sync(FULL_WARP, waits && lane == 0); waiting; waiting &= waiting - 1) {
      const int leader = __ffs(waiting) - 1;
      const double sum = sum_range(products, __shfl_sync(FULL_WARP, from, leader), __shfl_sync(FULL_WARP, to, leader));
      if (threadIdx.x % WARP == leader) total = sum;
    }
    if (inside && lane == 0) {
      if (begins_before)
        first_sums[tile] = total;
      else if (ends_after)
        last_sums[tile] = total;
      else
        sums.take(first + number, total);
    }
    if constexpr (EARLY) row_begin = later_begin, row_end = later_end, sums.turn();
  }
}

/// The sum of a row that borders cut, one warp: the last sum of its first tile, then the first sums up to its last
/// tile; lane 0 holds it.
__device__ __forceinline__ double join_parts(int first, int last, const double *__restrict__ first_sums,
                                             const double *__restrict__ last_sums) {
  const int lane = threadIdx.x % WARP;
  double total = lane == 0 ? last_sums[first] : 0.0;
  for (int tile = first + 1 + lane; tile <= last; tile += WARP)
    total += first_sums[tile];
  return sum_lanes<WARP>(total);
}
