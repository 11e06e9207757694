#include "segments.cuh"

/// packed := the first k segments of the values with these numbers, one segment after the other, a thread a value.
template <int SEGMENTS>
__global__ void pack(long long count, const int *__restrict__ positions, int k,
                     const Unit<SEGMENTS> *__restrict__ units, Unit<SEGMENTS> *__restrict__ packed) {
  const long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count) return;
  const Unit<SEGMENTS> *head = units + head_of<SEGMENTS>(positions[item]);
  for (int segment = 0; segment < k; ++segment)
    packed[segment * count + item] = head[segment * GROUP<SEGMENTS>];
}

/// The inverse of pack for `count` values from `begin` on, which leaves the other segments.
template <int SEGMENTS>
__global__ void unpack(long long begin, long long count, int k, Unit<SEGMENTS> *__restrict__ units,
                       const Unit<SEGMENTS> *__restrict__ packed) {
  const long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count) return;
  Unit<SEGMENTS> *head = units + head_of<SEGMENTS>(begin + item);
  for (int segment = 0; segment < k; ++segment)
    head[segment * GROUP<SEGMENTS>] = packed[segment * count + item];
}

/// What a thread copies of each segment, 16 bytes at a time, so that as much is under way between two GPUs.
constexpr int WORDS_AHEAD = 4;

/// Copies the first k segments of values begin … end − 1 to the same places of a vector that may lie on another GPU:
/// whole groups by words of 16 bytes, WORDS_AHEAD a thread, the values before and after them by units.
template <int SEGMENTS>
__global__ void copy_segments(long long begin, long long end, int k, const Unit<SEGMENTS> *__restrict__ from,
                              Unit<SEGMENTS> *__restrict__ to) {
  constexpr int GROUP_SIZE = GROUP<SEGMENTS>, WORDS = 8;
  const long long first = (begin + GROUP_SIZE - 1) / GROUP_SIZE, last = end / GROUP_SIZE;
  const long long words = last > first ? (last - first) * WORDS : 0;
  const long long threads = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (int segment = 0; segment < k; ++segment) {
    for (long long word = thread; word < words; word += threads * WORDS_AHEAD) {
      uint4 copied[WORDS_AHEAD];
      long long places[WORDS_AHEAD];
#pragma unroll
      for (int item = 0; item < WORDS_AHEAD; ++item) {
        const long long mine = word + item * threads;
        places[item] = ((first + mine / WORDS) * SEGMENTS + segment) * WORDS + mine % WORDS;
        if (mine < words) copied[item] = reinterpret_cast<const uint4 *>(from)[places[item]];
      }
#pragma unroll
      for (int item = 0; item < WORDS_AHEAD; ++item)
        if (word + item * threads < words) reinterpret_cast<uint4 *>(to)[places[item]] = copied[item];
    }
  }
  const long long before = words ? first * GROUP_SIZE - begin : end - begin;
  const long long after = words ? end - last * GROUP_SIZE : 0;
  for (long long edge = thread; edge < before + after; edge += threads) {
    const long long value = edge < before ? begin + edge : last * GROUP_SIZE + (edge - before);
    for (int segment = 0; segment < k; ++segment) {
      const unsigned long long unit = head_of<SEGMENTS>(value) + segment * GROUP_SIZE;
      to[unit] = from[unit];
    }
  }
}
