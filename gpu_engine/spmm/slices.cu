#include "spmm_packed.cuh"

constexpr int SLICE = 32;

/// The slots of a lane: from its first nonzero of the row on, to the end of the row.
template <int V> struct Slots {
  int slice;
  long long begin, end;

  __device__ __forceinline__ Slots(const Lane<V> &lane, const long long *__restrict__ offsets,
                                   const int *__restrict__ lengths)
      : slice(lane.group / SLICE), begin(offsets[slice] + lane.group % SLICE), end(begin) {
    end += (long long)SLICE * lengths[lane.group];
    begin += SLICE * lane.part;
  }
};

/// Y := α·A·X + β·Y for slices of SLICE rows that lie column by column; a group of lanes computes a row.
template <int V>
__global__ void __launch_bounds__(SPMM_BLOCK)
    spmm_slices(int n_rows, const long long *__restrict__ offsets, const int *__restrict__ lengths,
                const int *__restrict__ columns, const double *__restrict__ values, int k, int width, int split,
                double alpha, const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y,
                long long ldy) {
  const Lane<V> lane(k, width, split);
  const bool has_row = lane.group < n_rows;
  Columns<V> total;
  if (has_row && lane.is_active && alpha != 0.0) {
    const Slots<V> slots(lane, offsets, lengths);
    total.add(slots.begin, slots.end, SLICE * split, CsrEntries{columns, values}, x + lane.column, ldx);
  }
  total.join(width, split);
  if (has_row && lane.writes) total.write(alpha, beta, y + lane.group * ldy + lane.column);
}

/// spmm_slices with packed columns and values; a slice is a part.
template <int V, int BYTES>
__global__ void __launch_bounds__(SPMM_BLOCK, V == 4 ? 4 : 6)
    spmm_packed_slices(int n_rows, const long long *__restrict__ offsets, const int *__restrict__ lengths,
                       const int *__restrict__ bases, const long long *__restrict__ places,
                       const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                       const void *__restrict__ values, const double *__restrict__ table, int k, int width, int split,
                       double alpha, const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y,
                       long long ldy) {
  const Lane<V> lane(k, width, split);
  const bool has_row = lane.group < n_rows;
  Columns<V> total;
  if (has_row && lane.is_active && alpha != 0.0) {
    const Packed<BYTES> packed{bases, places, narrow, wide, values, table};
    const Slots<V> slots(lane, offsets, lengths);
    const int base = __ldg(bases + slots.slice), step = SLICE * split;
    // Where the column of slot 0 would lie if the slice began there.
    const long long origin = __ldg(places + slots.slice) - offsets[slots.slice];
    const double *const first = x + lane.column;
    if (base >= 0)
      total.add(slots.begin, slots.end, step, PartEntries<unsigned short, BYTES>{packed, narrow + origin, base}, first,
                ldx);
    else
      total.add(slots.begin, slots.end, step, PartEntries<int, BYTES>{packed, wide + origin, 0}, first, ldx);
  }
  total.join(width, split);
  if (has_row && lane.writes) total.write(alpha, beta, y + lane.group * ldy + lane.column);
}
