#pragma once
#include "segments.cuh"

/// How ranks or matrix values are stored: `Unit` is what their array holds, load keeps a value in the caches, read_once
/// does not, store returns what was kept.
struct Fp64 {
  using Unit = double;
  static __device__ __forceinline__ double load(const Unit *base, long long i) { return __ldg(base + i); }
  static __device__ __forceinline__ double read_once(const Unit *base, long long i) { return stream(base + i); }
  static __device__ __forceinline__ double store(Unit *base, long long i, double value) { return base[i] = value; }
};

struct Fp32 {
  using Unit = float;
  static __device__ __forceinline__ double load(const Unit *base, long long i) { return __ldg(base + i); }
  static __device__ __forceinline__ double read_once(const Unit *base, long long i) { return stream(base + i); }
  static __device__ __forceinline__ double store(Unit *base, long long i, double value) {
    return base[i] = (float)value;
  }
};

/// The first K of SEGMENTS segments.
template <int SEGMENTS, int K, typename Code = Ieee> struct Head {
  using Unit = typename UnitOf<SEGMENTS>::Type;
  static __device__ __forceinline__ double load(const Unit *base, long long i) {
    return load_segments<SEGMENTS, K, Code>(base, i);
  }
  static __device__ __forceinline__ double read_once(const Unit *base, long long i) {
    return stream_segments<SEGMENTS, K, Code>(base, i);
  }
  static __device__ __forceinline__ double store(Unit *base, long long i, double value) {
    return store_segments<SEGMENTS, K, Code>(base, i, value);
  }
};

/// Whether segments of 16 bits have short exponents: to join and round them takes registers.
template <typename T> constexpr bool IS_SHORT16 = false;
template <int K> constexpr bool IS_SHORT16<Head<4, K, Short>> = true;

/// No values: every link of a page carries the same share, and what stands for p is p over the out-degree.
struct None {
  using Unit = double;
  static __device__ __forceinline__ double load(const Unit *, long long) { return 1.0; }
  static __device__ __forceinline__ double read_once(const Unit *, long long) { return 1.0; }
};

/// What is known of a page beside its rank: whether it dangles; without values, its out-degree.
template <typename Values> struct PageOf {
  using Type = unsigned char;
  static __device__ __forceinline__ double links(Type) { return 1.0; }
  static __device__ __forceinline__ bool dangles(Type page) { return page; }
};
template <> struct PageOf<None> {
  using Type = int;
  static __device__ __forceinline__ double links(Type degree) { return degree > 0 ? degree : 1; }
  static __device__ __forceinline__ bool dangles(Type degree) { return degree == 0; }
};

enum Norm { L1 = 0, L2 = 1, LINF = 2 };

/// Sums are spread over so many places, each of which few warps add to.
constexpr int SLOTS = 1024;

/// Sums of ranks are integers of this unit: they do not depend on which warp was first. n·2⁻⁶¹ is what rounding may
/// add.
constexpr double UNITS_OF_ONE = 0x1p60;

/// What an iteration knows of the one before.
struct State {
  double base;   // what every page gets without a link: teleport and the rank of dangling pages
  double gamma;  // norm of the last change
  double factor; // what the ranks, as they are stored, are to be multiplied by
};

__device__ __forceinline__ unsigned long long sum_warp(unsigned long long value) {
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(FULL_WARP, value, offset);
  return value;
}

/// Threads of a block that settles an iteration.
constexpr int BLOCK = 256;

/// Sum over a block of BLOCK threads; the first warp holds it.
__device__ __forceinline__ unsigned long long sum_block(unsigned long long value) {
  __shared__ unsigned long long warps[BLOCK / WARP];
  value = sum_warp(value);
  __syncthreads();
  if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
  __syncthreads();
  return sum_warp(threadIdx.x < BLOCK / WARP ? warps[threadIdx.x] : 0);
}

/// Adds a share of every lane to the warp's slot, a negative one as its two's complement. Lanes round differently:
/// millions of pages may have the same rank, and then a warp's roundings cancel instead of adding up.
__device__ __forceinline__ void add_rank(double share, unsigned long long *slots, long long warp) {
  const double rounding = (threadIdx.x % WARP + 0.5) / WARP;
  const unsigned long long total = sum_warp((unsigned long long)__double2ll_rd(share * UNITS_OF_ONE + rounding));
  if (threadIdx.x % WARP == 0 && total) atomicAdd(slots + warp % SLOTS, total);
}

/// Of all lanes, L2 the sum and LINF the largest; the first lane holds it.
__device__ __forceinline__ double join_sizes(int norm, double size) {
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(FULL_WARP, size, offset);
    size = norm == L2 ? size + other : (other > size ? other : size);
  }
  return size;
}

/// Adds what changed in the pages of every lane to the warp's slot: L1 in units, L2 a sum of squares, LINF the largest.
__device__ __forceinline__ void add_change(int norm, double size, unsigned long long *slots, long long warp) {
  if (norm == L1) {
    add_rank(size, slots, warp);
    return;
  }
  const double total = join_sizes(norm, size);
  if (threadIdx.x % WARP != 0) return;
  if (norm == L2)
    atomicAdd((double *)(slots + warp % SLOTS), total);
  else
    atomicMax(slots + warp % SLOTS, (unsigned long long)__double_as_longlong(total));
}
