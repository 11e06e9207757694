#pragma once
#include "common.cuh"

/// fp64 in SEGMENTS segments, as gpu_engine/cpms/layout.py places them; a unit holds one segment of one value.
template <int SEGMENTS> struct UnitOf;
template <> struct UnitOf<2> {
  using Type = unsigned;
};
template <> struct UnitOf<4> {
  using Type = unsigned short;
};
template <int SEGMENTS> using Unit = typename UnitOf<SEGMENTS>::Type;

template <int SEGMENTS> constexpr int UNIT_BITS = 64 / SEGMENTS;

/// Values of a group: as many as a block of 128 bytes holds units.
template <int SEGMENTS> constexpr int GROUP = 16 * SEGMENTS;

/// Bits of a value below a segment.
template <int SEGMENTS> __device__ __forceinline__ constexpr int shift_of(int segment) {
  return 64 - UNIT_BITS<SEGMENTS> * (segment + 1);
}

/// Which bits of a value its segments hold: those of fp64. What a code is: gpu_engine/cpms/codes.py.
struct Ieee {
  template <int SEGMENTS> static __device__ __forceinline__ unsigned long long encode(unsigned long long bits) {
    return bits;
  }
  template <int SEGMENTS, int READ>
  static __device__ __forceinline__ unsigned long long decode(unsigned long long code) {
    return code;
  }
};

/// Short exponents and rounded heads, of numbers of 2⁻⁶³ to 1.
struct Short {
  static constexpr int UP = 6;
  static constexpr unsigned long long BASE = 960ull << 52;

  /// Half a unit of each of the first READ − 1 heads.
  template <int SEGMENTS, int READ> static __device__ __forceinline__ constexpr unsigned long long half() {
    unsigned long long sum = 0;
    for (int segment = 0; segment < READ - 1; ++segment)
      sum += 1ull << (shift_of<SEGMENTS>(segment) - 1);
    return sum;
  }
  template <int SEGMENTS> static __device__ __forceinline__ unsigned long long encode(unsigned long long bits) {
    constexpr unsigned long long HALF = half<SEGMENTS, SEGMENTS>(), LAST = BASE + ((~0ull - HALF) >> UP);
    bits = bits < BASE ? BASE : (bits > LAST ? LAST : bits);
    return ((bits - BASE) << UP) + HALF;
  }
  /// Of a code cut to its first READ segments.
  template <int SEGMENTS, int READ>
  static __device__ __forceinline__ unsigned long long decode(unsigned long long code) {
    // Both terms of a difference of multiples of 2⁶: one constant is added to what is shifted.
    constexpr unsigned long long LEAST = BASE - (half<SEGMENTS, READ>() >> UP);
    return (code >> UP) + LEAST;
  }
};

/// Unit of the first segment of value i, its head; the next segments follow GROUP units apart.
template <int SEGMENTS> __device__ __forceinline__ unsigned long long head_of(long long i) {
  const unsigned long long value = i, place = value % GROUP<SEGMENTS>;
  return (value - place) * SEGMENTS + place;
}

/// A value whose units are `apart` from each other, truncated to its first READ segments; `load` takes the address of a
/// unit.
template <int SEGMENTS, int READ, typename Code = Ieee, typename Load>
__device__ __forceinline__ double join_units(const Unit<SEGMENTS> *head, long long apart, Load load) {
  static_assert(1 <= READ && READ <= SEGMENTS, "a value has no such precision");
  unsigned long long bits = 0;
#pragma unroll
  for (int segment = 0; segment < READ; ++segment)
    bits |= (unsigned long long)load(head + segment * apart) << shift_of<SEGMENTS>(segment);
  return __longlong_as_double((long long)Code::template decode<SEGMENTS, READ>(bits));
}

/// Value i of those at `base`, in blocks.
template <int SEGMENTS, int READ, typename Code = Ieee, typename Load>
__device__ __forceinline__ double join_segments(const Unit<SEGMENTS> *base, long long i, Load load) {
  return join_units<SEGMENTS, READ, Code>(base + head_of<SEGMENTS>(i), GROUP<SEGMENTS>, load);
}

/// Value i truncated to its first READ segments, kept in the caches, as a gathered x is.
template <int SEGMENTS, int READ, typename Code = Ieee>
__device__ __forceinline__ double load_segments(const Unit<SEGMENTS> *__restrict__ base, long long i) {
  return join_segments<SEGMENTS, READ, Code>(base, i, [](const Unit<SEGMENTS> *unit) { return __ldg(unit); });
}

/// Value i truncated to its first READ segments, for values that are read once.
template <int SEGMENTS, int READ, typename Code = Ieee>
__device__ __forceinline__ double stream_segments(const Unit<SEGMENTS> *__restrict__ base, long long i) {
  return join_segments<SEGMENTS, READ, Code>(base, i, [](const Unit<SEGMENTS> *unit) { return stream(unit); });
}

/// Writes the first WRITTEN segments of value i and leaves the others; returns the value as these segments hold it.
template <int SEGMENTS, int WRITTEN, typename Code = Ieee>
__device__ __forceinline__ double store_segments(Unit<SEGMENTS> *base, long long i, double value) {
  static_assert(1 <= WRITTEN && WRITTEN <= SEGMENTS, "a value has no such precision");
  Unit<SEGMENTS> *head = base + head_of<SEGMENTS>(i);
  const unsigned long long bits = Code::template encode<SEGMENTS>((unsigned long long)__double_as_longlong(value));
#pragma unroll
  for (int segment = 0; segment < WRITTEN; ++segment)
    head[segment * GROUP<SEGMENTS>] = (Unit<SEGMENTS>)(bits >> shift_of<SEGMENTS>(segment));
  constexpr int LOST = shift_of<SEGMENTS>(WRITTEN - 1);
  return __longlong_as_double((long long)Code::template decode<SEGMENTS, WRITTEN>(bits >> LOST << LOST));
}
