#pragma once
#include "ranks.cuh"

/// The entries of a tile as CSR stores them, each read once: entries mine, mine + WARP … of it, with its values stored
/// as `Values`.
template <typename Values> struct TileEntries {
  const int *__restrict__ indices;
  const typename Values::Unit *__restrict__ values;

  template <int ITEMS>
  __device__ __forceinline__ void load(long long begin, int mine, int count, int (&columns)[ITEMS],
                                       double (&factors)[ITEMS]) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int place = mine + item * WARP;
      columns[item] = place < count ? stream(indices + begin + place) : -1;
      factors[item] = place < count ? Values::read_once(values, begin + place) : 0.0;
    }
  }
};
