#include "segments.cuh"
#include "slots.cuh"
#include "thread_row.cuh"

/// fp64 in SEGMENTS segments of which the first K are used, in blocks of BLOCK_BYTES; of 0 bytes: each segment in an
/// array of its own, `apart` units long. K of 0: numbers.
template <int SEGMENTS, int K, int BLOCK_BYTES> struct Stored {
  using Type = Unit<SEGMENTS>;
  static constexpr int VALUES = BLOCK_BYTES * SEGMENTS / 8;
  static __device__ __forceinline__ unsigned long long head_of(long long i) {
    const unsigned long long value = i;
    if constexpr (BLOCK_BYTES == 0) {
      return value;
    } else {
      // As in segments.cuh: with the remainder twice in the sum the compiler keeps one slot in flight instead of four.
      const unsigned long long place = value % VALUES;
      return (value - place) * SEGMENTS + place;
    }
  }
  static __device__ __forceinline__ long long apart_of(long long apart) { return BLOCK_BYTES == 0 ? apart : VALUES; }
  static __device__ __forceinline__ double load(const Type *base, long long apart, long long i) {
    return join_units<SEGMENTS, K>(base + head_of(i), apart_of(apart), [](const Type *unit) { return __ldg(unit); });
  }
  static __device__ __forceinline__ double read_once(const Type *base, long long apart, long long i) {
    return join_units<SEGMENTS, K>(base + head_of(i), apart_of(apart), [](const Type *unit) { return stream(unit); });
  }
  static __device__ __forceinline__ void store(Type *base, long long apart, long long i, double value) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
#pragma unroll
    for (int segment = 0; segment < K; ++segment)
      base[head_of(i) + segment * apart_of(apart)] = (Type)(bits >> shift_of<SEGMENTS>(segment));
  }
};

template <int SEGMENTS, int BLOCK_BYTES> struct Stored<SEGMENTS, 0, BLOCK_BYTES> {
  using Type = double;
  static __device__ __forceinline__ double load(const Type *base, long long, long long i) { return __ldg(base + i); }
  static __device__ __forceinline__ double read_once(const Type *base, long long, long long i) {
    return stream(base + i);
  }
  static __device__ __forceinline__ void store(Type *base, long long, long long i, double value) { base[i] = value; }
};

/// y := Aᵀ·p, one thread a page; the rows of Aᵀ in CSR. y is stored as p is.
template <typename Pointer, int SEGMENTS, int READ_A, int READ_P, int BLOCK_BYTES>
__global__ void csr_thread(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                           const typename Stored<SEGMENTS, READ_A, BLOCK_BYTES>::Type *__restrict__ values,
                           const typename Stored<SEGMENTS, READ_P, BLOCK_BYTES>::Type *__restrict__ p,
                           typename Stored<SEGMENTS, READ_P, BLOCK_BYTES>::Type *__restrict__ y, long long values_apart,
                           long long ranks_apart) {
  using Values = Stored<SEGMENTS, READ_A, BLOCK_BYTES>;
  using Ranks = Stored<SEGMENTS, READ_P, BLOCK_BYTES>;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long row = thread; row < n; row += (long long)gridDim.x * blockDim.x) {
    const Pointer begin = indptr[row];
    const double total = sum_row((int)(indptr[row + 1] - begin), begin, indices,
                                 [=](long long at) { return Values::load(values, values_apart, at); },
                                 [=](int column) { return Ranks::load(p, ranks_apart, column); });
    Ranks::store(y, ranks_apart, row, total);
  }
}

/// The same in ELLPACK: columns and values [width, n], padded with column −1.
template <int SEGMENTS, int READ_A, int READ_P, int BLOCK_BYTES>
__global__ void ell_thread(int n, int width, const int *__restrict__ columns,
                           const typename Stored<SEGMENTS, READ_A, BLOCK_BYTES>::Type *__restrict__ values,
                           const typename Stored<SEGMENTS, READ_P, BLOCK_BYTES>::Type *__restrict__ p,
                           typename Stored<SEGMENTS, READ_P, BLOCK_BYTES>::Type *__restrict__ y, long long values_apart,
                           long long ranks_apart) {
  using Values = Stored<SEGMENTS, READ_A, BLOCK_BYTES>;
  using Ranks = Stored<SEGMENTS, READ_P, BLOCK_BYTES>;
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  const double total = sum_slots<4>(
      width, row, n, columns, [=](long long at) { return Values::read_once(values, values_apart, at); },
      [=](int column) { return Ranks::load(p, ranks_apart, column); });
  Ranks::store(y, ranks_apart, row, total);
}
