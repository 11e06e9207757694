#include "packed.cuh"
#include "product.cuh"

/// products[slot] = values·x of the slots of a piece, a warp a piece: the nonzeros of one tile in one block of columns.
/// Slots lie by tiles, and pieces are taken by blocks, so that all warps in flight gather from the same part of x.
template <typename Pointer, int AHEAD, int BYTES>
__global__ void propagate(unsigned n_tiles, int n_blocks, const Pointer *__restrict__ starts,
                          const int *__restrict__ columns, const void *__restrict__ values,
                          const double *__restrict__ table, double *__restrict__ products,
                          const double *__restrict__ x) {
  await_previous();
  let_next_start();
  const unsigned number = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
  const int block = (int)(number / n_tiles), tile = (int)(number % n_tiles), lane = threadIdx.x % WARP;
  if (block >= n_blocks) return;
  const long long piece = (long long)tile * n_blocks + block;
  const Pointer begin = __ldg(starts + piece);
  const int count = (int)(__ldg(starts + piece + 1) - begin);
  const Packed<BYTES> packed{nullptr, nullptr, nullptr, nullptr, values, table};
  for (int first = lane; first < count; first += AHEAD * WARP) {
    int from[AHEAD];
    double factors[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      from[item] = first + item * WARP < count ? stream(columns + begin + first + item * WARP) : -1;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      factors[item] = first + item * WARP < count ? packed.value(begin + first + item * WARP) : 0.0;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (from[item] >= 0) factors[item] *= __ldg(x + from[item]);
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (from[item] >= 0) __stcs(products + begin + first + item * WARP, factors[item]);
  }
}

/// Where the product at a place in row order lies in shared memory: rows of equal length would else begin in one bank.
__device__ __forceinline__ int padded(int place) {
  return place + place / 16;
}

/// Σ of the products at the places [from … to), the whole warp at work; every lane holds it.
__device__ __forceinline__ double sum_padded(const double *ordered, int from, int to) {
  double total = 0.0;
  for (int place = from + threadIdx.x % WARP; place < to; place += WARP)
    total += ordered[padded(place)];
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    total += __shfl_xor_sync(FULL_WARP, total, offset);
  return total;
}

/// Products per lane of a mean row.
constexpr int SHORT = 8;

/// y := the sums of the rows of a tile, but for those that its borders cut (join_cut_rows), a thread block a tile of at
/// most THREADS·ITEMS products. Their places in row order are in `positions`; shared memory holds them in this order.
template <typename Pointer, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    sum_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
             const Pointer *__restrict__ indptr, const unsigned short *__restrict__ positions, const double *products,
             double *__restrict__ y, double *__restrict__ first_sums, double *__restrict__ last_sums) {
  __shared__ double ordered[THREADS * ITEMS + THREADS * ITEMS / 16];
  const int tile = blockIdx.x;
  const Pointer begin = __ldg(borders + tile);
  const int count = (int)(__ldg(borders + tile + 1) - begin);
  const unsigned flagged = __ldg(first_rows + tile), next = __ldg(first_rows + tile + 1);
  const int first = (int)(flagged & ~CUT), rows = (int)(next & ~CUT) - first + (next & CUT ? 1 : 0);
  await_previous();
  if (first_sums) let_next_start();
#pragma unroll 8
  for (int item = 0; item < ITEMS; ++item) {
    const int place = threadIdx.x + item * THREADS;
    if (place < count) ordered[padded(stream(positions + begin + place))] = __ldcs(products + begin + place);
  }
  int lanes = 1;
  while (lanes < WARP && SHORT * lanes * rows <= count)
    lanes *= 2;
  const int lane = threadIdx.x % lanes, step = THREADS / lanes;
  __syncthreads();
  for (int number = threadIdx.x / lanes, pass = 0; pass < rows; pass += step, number += step) {
    const bool inside = number < rows;
    const Pointer row_begin = inside ? __ldg(indptr + first + number) : begin;
    const Pointer row_end = inside ? __ldg(indptr + first + number + 1) : begin;
    const bool begins_before = row_begin<begin, ends_after = row_end> begin + count;
    const int from = begins_before ? 0 : (int)(row_begin - begin);
    const int to = ends_after ? count : (int)(row_end - begin);
    const bool waits = lanes < WARP && to - from > LONG * lanes;
    double total = 0.0;
    if (!waits)
      for (int place = from + lane; place < to; place += lanes)
        total += ordered[padded(place)];
    total = sum_group(total, lanes);
    for (unsigned waiting = __ballot_sync(FULL_WARP, waits && lane == 0); waiting; waiting &= waiting - 1) {
      const int leader = __ffs(waiting) - 1;
      const double sum = sum_padded(ordered, __shfl_sync(FULL_WARP, from, leader), __shfl_sync(FULL_WARP, to, leader));
      if (threadIdx.x % WARP == leader) total = sum;
    }
    if (!inside || lane) continue;
    if (begins_before)
      first_sums[tile] = total;
    else if (ends_after)
      last_sums[tile] = total;
    else
      __stcs(y + first + number, total);
  }
}
