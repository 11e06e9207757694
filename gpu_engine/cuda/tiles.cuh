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

/// y := A·x for the rows of the block's tile, but for those that its borders cut: of these it leaves its part in
/// heads[tile] (the row began earlier) or tails[tile] (it goes on). Tiles as gpu_engine/formats/tiles.py cuts them;
/// entries.load(begin, first place, places, columns, factors) gives those of this lane, column −1 past the end.
/// Products wait in shared memory; groups of lanes, as wide as the rows of the tile allow, sum them.
template <typename Pointer, int THREADS, int ITEMS, typename Entries>
__device__ __forceinline__ void
multiply_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
              const Pointer *__restrict__ indptr, const Entries &entries, const double *__restrict__ x,
              double *__restrict__ y, double *__restrict__ heads, double *__restrict__ tails) {
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
#pragma unroll
  for (int item = 0; item < ITEMS; ++item)
    if (columns[item] >= 0) factors[item] *= __ldg(x + columns[item]);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item)
    products[mine + item * WARP] = factors[item];
  __syncthreads();
  for (int pass = 0; pass < rows; pass += step, number += step) {
    const bool inside = number < rows;
    if (pass > 0 && inside) row_begin = __ldg(indptr + first + number), row_end = __ldg(indptr + first + number + 1);
    const bool head = row_begin<begin, tail = row_end> begin + count;
    double total = 0.0;
    if (inside) {
      const int end = tail ? count : (int)(row_end - begin);
      for (int place = (head ? 0 : (int)(row_begin - begin)) + lane; place < end; place += lanes)
        total += products[place];
    }
    total = sum_group(total, lanes);
    if (inside && lane == 0) {
      if (head)
        heads[tile] = total;
      else if (tail)
        tails[tile] = total;
      else
        y[first + number] = total;
    }
  }
}

/// y of the rows that borders cut, a warp a row: the tail of tile first_tiles[k], then heads up to last_tiles[k].
__global__ void join_cut_rows(int n_cut, const int *__restrict__ rows, const int *__restrict__ first_tiles,
                              const int *__restrict__ last_tiles, const double *__restrict__ heads,
                              const double *__restrict__ tails, double *__restrict__ y) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  const int lane = threadIdx.x % WARP;
  if (number >= n_cut) return;
  const int first = first_tiles[number], last = last_tiles[number];
  double total = lane == 0 ? tails[first] : 0.0;
  for (int tile = first + 1 + lane; tile <= last; tile += WARP)
    total += heads[tile];
  total = sum_lanes<WARP>(total);
  if (lane == 0) y[rows[number]] = total;
}
