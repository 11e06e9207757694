#pragma once
#include "common.cuh"

/// Columns at places mine + item·STEP of a part, while these are less than `end`; past it −1. The kind of the columns
/// is asked once, so that all loads are in flight together. The arrays are those of Packed.
template <int STEP, int ITEMS>
__device__ __forceinline__ void load_columns(const int *__restrict__ bases, const long long *__restrict__ places,
                                             const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                                             int part, int mine, int end, int (&columns)[ITEMS]) {
  const int base = __ldg(bases + part);
  const long long first = __ldg(places + part) + mine;
  if (base >= 0) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item)
      columns[item] = mine + item * STEP < end ? base + stream(narrow + first + item * STEP) : -1;
  } else {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item)
      columns[item] = mine + item * STEP < end ? stream(wide + first + item * STEP) : -1;
  }
}

/// Packed columns and values: gpu_engine/formats/packing.py. BYTES a value: 8 doubles, 4 floats, 1 codes into the
/// table, 0 all of them table[0]. bases[part] is the smallest column of a part, −1 where its columns are whole;
/// places[part] is where its columns begin among the 16-bit `narrow` or the `wide` ones.
template <int BYTES> struct Packed {
  const int *__restrict__ bases;
  const long long *__restrict__ places;
  const unsigned short *__restrict__ narrow;
  const int *__restrict__ wide;
  const void *__restrict__ values;
  const double *__restrict__ table;

  __device__ __forceinline__ double value(long long slot) const {
    if constexpr (BYTES == 8) return stream(static_cast<const double *>(values) + slot);
    if constexpr (BYTES == 4) return (double)stream(static_cast<const float *>(values) + slot);
    if constexpr (BYTES == 1) return __ldg(table + stream(static_cast<const unsigned char *>(values) + slot));
    return __ldg(table);
  }

  /// Entries at slots begin + mine + item·STEP of a part that begins at slot `begin`, while mine + item·STEP < end;
  /// past it the column is −1.
  template <int STEP, int ITEMS>
  __device__ __forceinline__ void load(int part, long long begin, int mine, int end, int (&columns)[ITEMS],
                                       double (&factors)[ITEMS]) const {
    load_columns<STEP>(bases, places, narrow, wide, part, mine, end, columns);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item)
      factors[item] = mine + item * STEP < end ? value(begin + mine + item * STEP) : 0.0;
  }
};
