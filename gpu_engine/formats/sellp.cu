#include "packed.cuh"

/// y[order[r]] = Σ values·x of row r in storage order; a slice of ROWS rows lies column by column from offsets[slice]
/// on. `LANES` threads a row, in different warps: each takes every LANES-th column, `AHEAD` of them in flight, by
/// entries.load(slice, first slot, own place, end, columns, factors). A null order is the order of the matrix.
template <int ROWS, int LANES, int AHEAD, typename Entries>
__device__ __forceinline__ void multiply_slices(int n_rows, int n_slices, const long long *__restrict__ offsets,
                                                const int *__restrict__ lengths, const int *__restrict__ order,
                                                const Entries &entries, const double *__restrict__ x,
                                                double *__restrict__ y) {
  await_previous();
  const int slice = blockIdx.x * (blockDim.x / ROWS / LANES) + threadIdx.x / ROWS / LANES;
  const int lane = threadIdx.x % ROWS, part = threadIdx.x / ROWS % LANES;
  const int row = slice * ROWS + lane;
  const bool inside = slice < n_slices && row < n_rows;
  const int length = inside ? __ldg(lengths + row) : 0;
  const long long begin = inside ? __ldg(offsets + slice) : 0;
  double total = 0.0;
  for (int slot = part; slot < length; slot += AHEAD * LANES) {
    int columns[AHEAD];
    double factors[AHEAD];
    entries.template load<LANES * ROWS>(slice, begin, slot * ROWS + lane, length * ROWS, columns, factors);
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      if (columns[item] >= 0) total += factors[item] * __ldg(x + columns[item]);
  }
  if constexpr (LANES > 1) {
    extern __shared__ double parts[];
    parts[threadIdx.x] = total;
    __syncthreads();
    if (part > 0) return;
#pragma unroll
    for (int other = 1; other < LANES; ++other)
      total += parts[threadIdx.x + other * ROWS];
  }
  if (inside) y[order ? __ldg(order + row) : row] = total;
}

struct Plain {
  const int *__restrict__ columns;
  const double *__restrict__ values;

  template <int STEP, int ITEMS>
  __device__ __forceinline__ void load(int, long long begin, int mine, int end, int (&found)[ITEMS],
                                       double (&factors)[ITEMS]) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const bool inside = mine + item * STEP < end;
      found[item] = inside ? stream(columns + begin + mine + item * STEP) : -1;
      factors[item] = inside ? stream(values + begin + mine + item * STEP) : 0.0;
    }
  }
};

/// y := A·x by slices with plain columns and values.
template <int ROWS, int LANES, int AHEAD>
__global__ void sellp(int n_rows, int n_slices, const long long *__restrict__ offsets, const int *__restrict__ lengths,
                      const int *__restrict__ order, const int *__restrict__ columns, const double *__restrict__ values,
                      const double *__restrict__ x, double *__restrict__ y) {
  multiply_slices<ROWS, LANES, AHEAD>(n_rows, n_slices, offsets, lengths, order, Plain{columns, values}, x, y);
}

/// y := A·x by slices with packed columns and values.
template <int ROWS, int LANES, int AHEAD, int BYTES>
__global__ void
sellp_packed(int n_rows, int n_slices, const long long *__restrict__ offsets, const int *__restrict__ lengths,
             const int *__restrict__ order, const int *__restrict__ bases, const long long *__restrict__ places,
             const unsigned short *__restrict__ narrow, const int *__restrict__ wide, const void *__restrict__ values,
             const double *__restrict__ table, const double *__restrict__ x, double *__restrict__ y) {
  const Packed<BYTES> packed{bases, places, narrow, wide, values, table};
  multiply_slices<ROWS, LANES, AHEAD>(n_rows, n_slices, offsets, lengths, order, packed, x, y);
}
