#include "segments.cuh"

/// What a lane holds of a group: consecutive values, so that their segments of one kind fill a word of 32 bits and a
/// warp reads and writes whole blocks.
template <int SEGMENTS> struct alignas(4 * SEGMENTS) Values {
  static constexpr int COUNT = SEGMENTS / 2;
  unsigned long long bits[COUNT];
};

/// Group of this warp.
__device__ __forceinline__ long long group_of_warp() {
  return (long long)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
}

/// Splits the values of `groups` groups in place, a warp a group; the storage is aligned to 128 bytes.
template <int SEGMENTS, typename Code> __global__ void to_cpms(long long groups, void *storage) {
  const int lane = threadIdx.x % WARP;
  const long long group = group_of_warp();
  if (group >= groups) return;
  Values<SEGMENTS> values = static_cast<const Values<SEGMENTS> *>(storage)[group * WARP + lane];
  unsigned *words = static_cast<unsigned *>(storage) + group * WARP * SEGMENTS + lane;
  // No lane may write before all have read: the blocks lie where the values were.
  __syncwarp();
#pragma unroll
  for (int item = 0; item < Values<SEGMENTS>::COUNT; ++item)
    values.bits[item] = Code::template encode<SEGMENTS>(values.bits[item]);
#pragma unroll
  for (int segment = 0; segment < SEGMENTS; ++segment) {
    unsigned word = 0;
#pragma unroll
    for (int item = 0; item < Values<SEGMENTS>::COUNT; ++item) {
      const auto unit = (Unit<SEGMENTS>)(values.bits[item] >> shift_of<SEGMENTS>(segment));
      word |= (unsigned)unit << (item * UNIT_BITS<SEGMENTS>);
    }
    words[segment * WARP] = word;
  }
}

/// The inverse of to_cpms.
template <int SEGMENTS, typename Code> __global__ void to_ieee(long long groups, void *storage) {
  const int lane = threadIdx.x % WARP;
  const long long group = group_of_warp();
  if (group >= groups) return;
  const unsigned *words = static_cast<const unsigned *>(storage) + group * WARP * SEGMENTS + lane;
  Values<SEGMENTS> values = {};
#pragma unroll
  for (int segment = 0; segment < SEGMENTS; ++segment) {
    const unsigned word = words[segment * WARP];
#pragma unroll
    for (int item = 0; item < Values<SEGMENTS>::COUNT; ++item) {
      const auto unit = (Unit<SEGMENTS>)(word >> (item * UNIT_BITS<SEGMENTS>));
      values.bits[item] |= (unsigned long long)unit << shift_of<SEGMENTS>(segment);
    }
  }
#pragma unroll
  for (int item = 0; item < Values<SEGMENTS>::COUNT; ++item)
    values.bits[item] = Code::template decode<SEGMENTS, SEGMENTS>(values.bits[item]);
  __syncwarp();
  static_cast<Values<SEGMENTS> *>(storage)[group * WARP + lane] = values;
}
