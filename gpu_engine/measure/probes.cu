#include "common.cuh"

/// Elements of a block are consecutive and it takes `ITEMS` a thread: the whole grid moves through memory in order,
/// which memory serves faster than a resident grid that strides through all of it.
template <int ITEMS> struct Chunk {
  long long begin;
  bool whole;

  __device__ Chunk(long long n) {
    begin = (long long)blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    whole = (long long)(blockIdx.x + 1) * blockDim.x * ITEMS <= n;
  }

  /// Calls visit(place, item) for each element of this thread; a whole chunk is not asked for its end.
  template <typename Visit> __device__ void each(long long n, Visit visit) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const long long place = begin + (long long)item * blockDim.x;
      if (whole || place < n) visit(place, item);
    }
  }
};

/// Copies n pairs of doubles.
template <int ITEMS>
__global__ void copy_probe(long long n, const double2 *__restrict__ source, double2 *__restrict__ target) {
  const Chunk<ITEMS> chunk(n);
  double2 held[ITEMS];
  chunk.each(n, [&](long long place, int item) { held[item] = source[place]; });
  chunk.each(n, [&](long long place, int item) { target[place] = held[item]; });
}

/// Reads n pairs of doubles; the sum is written only if it equals `never`, so that no load is dropped.
template <int ITEMS>
__global__ void read_probe(long long n, const double2 *__restrict__ values, double never, double *__restrict__ out) {
  const Chunk<ITEMS> chunk(n);
  double total = 0.0;
  chunk.each(n, [&](long long place, int) {
    const double2 value = values[place];
    total += value.x + value.y;
  });
  if (total == never) out[0] = total;
}

/// Streams column indices and values and gathers x, `ITEMS` entries in flight a thread, without any row work.
template <int ITEMS>
__global__ void gather_probe(long long nnz, const int *__restrict__ indices, const double *__restrict__ values,
                             const double *__restrict__ x, double never, double *__restrict__ out) {
  const Chunk<ITEMS> chunk(nnz);
  int columns[ITEMS];
  double factors[ITEMS];
  chunk.each(nnz, [&](long long place, int item) {
    columns[item] = stream(indices + place);
    factors[item] = stream(values + place);
  });
  double total = 0.0;
  chunk.each(nnz, [&](long long, int item) { total += factors[item] * __ldg(x + columns[item]); });
  if (total == never) out[0] = total;
}
