#include "packed.cuh"

constexpr int SLICE = 32, WINDOW = 256;

/// The row at a place in storage order: itself where there are no ranks, else its rank is that in a window of rows.
__device__ __forceinline__ int row_at(int place, const unsigned char *__restrict__ ranks) {
  return ranks ? place / WINDOW * WINDOW + __ldg(ranks + place) : place;
}

/// The values of the lower triangle. They are read twice, so they may stay in the caches.
template <int BYTES> struct Values {
  const void *__restrict__ values;
  const double *__restrict__ table;

  __device__ __forceinline__ double at(long long slot) const {
    if constexpr (BYTES == 8) return __ldg(static_cast<const double *>(values) + slot);
    if constexpr (BYTES == 4) return (double)__ldg(static_cast<const float *>(values) + slot);
    if constexpr (BYTES == 1) return __ldg(table + __ldg(static_cast<const unsigned char *>(values) + slot));
    return __ldg(table);
  }
};

/// y := A·x of a matrix of which the lower triangle and the diagonal are stored, by slices of 32 rows; a_ji is
/// sign·a_ij. A row sums its own nonzeros, then those above the diagonal, each of which it reads where the row of its
/// column stores it: in that row's slice, at the number in `numbers`; what stands for the column is the place of that
/// row. LANES threads per row, in different warps: each takes every LANES-th slot, AHEAD of them in flight.
template <int LANES, int AHEAD, int BYTES, typename Number>
__global__ void symmetric(int n_rows, double sign, const unsigned char *__restrict__ ranks,
                          const long long *__restrict__ offsets, const Number *__restrict__ lengths,
                          const int *__restrict__ bases, const long long *__restrict__ places,
                          const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                          const void *__restrict__ values, const double *__restrict__ table,
                          const Number *__restrict__ upper_lengths, const long long *__restrict__ upper_offsets,
                          const int *__restrict__ upper_bases, const long long *__restrict__ upper_places,
                          const unsigned short *__restrict__ upper_narrow, const int *__restrict__ upper_wide,
                          const Number *__restrict__ numbers, const double *__restrict__ x, double *__restrict__ y) {
  await_previous();
  const int slice = blockIdx.x * (blockDim.x / SLICE / LANES) + threadIdx.x / SLICE / LANES;
  const int lane = threadIdx.x % SLICE, part = threadIdx.x / SLICE % LANES;
  const int row = slice * SLICE + lane;
  const bool inside = row < n_rows;
  const int length = inside ? __ldg(lengths + row) : 0, upper_length = inside ? __ldg(upper_lengths + row) : 0;
  const long long begin = inside ? __ldg(offsets + slice) : 0, upper_begin = inside ? __ldg(upper_offsets + slice) : 0;
  const Values<BYTES> lower_values{values, table};
  double total = 0.0, above = 0.0;
  // What is loaded depends on numbers of slots, not on columns, so that it does not wait for them.
  for (int slot = part; slot < length; slot += AHEAD * LANES) {
    int columns[AHEAD];
    double factors[AHEAD];
    load_columns<LANES * SLICE>(bases, places, narrow, wide, slice, slot * SLICE + lane, length * SLICE, columns);
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      factors[item] =
          slot + item * LANES < length ? lower_values.at(begin + (slot + item * LANES) * SLICE + lane) : 0.0;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (columns[item] >= 0) total += factors[item] * __ldg(x + columns[item]);
  }
  for (int slot = part; slot < upper_length; slot += AHEAD * LANES) {
    int columns[AHEAD], slots[AHEAD];
    double factors[AHEAD];
    load_columns<LANES * SLICE>(upper_bases, upper_places, upper_narrow, upper_wide, slice, slot * SLICE + lane,
                                upper_length * SLICE, columns);
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      slots[item] = slot + item * LANES < upper_length
                        ? (int)stream(numbers + upper_begin + (slot + item * LANES) * SLICE + lane)
                        : 0;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (columns[item] >= 0)
        factors[item] = lower_values.at(__ldg(offsets + columns[item] / SLICE) + (long long)slots[item] * SLICE +
                                        columns[item] % SLICE);
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (columns[item] >= 0) above += factors[item] * __ldg(x + row_at(columns[item], ranks));
  }
  total += sign * above;
  if constexpr (LANES > 1) {
    extern __shared__ double parts[];
    parts[threadIdx.x] = total;
    __syncthreads();
    if (part > 0) return;
#pragma unroll
    for (int other = 1; other < LANES; ++other)
      total += parts[threadIdx.x + other * SLICE];
  }
  if (inside) y[row_at(row, ranks)] = total;
}
