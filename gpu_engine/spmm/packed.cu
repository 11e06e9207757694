#include "spmm_packed.cuh"

/// spmm_segments with packed columns and values; `part_size` neighboring segments are a part.
template <int V, int BYTES, typename Pointer>
__global__ void __launch_bounds__(SPMM_BLOCK, V == 4 ? 4 : 6)
    spmm_packed(int segments, const Pointer *__restrict__ begins, const int *__restrict__ targets, int part_size,
                const int *__restrict__ bases, const long long *__restrict__ places,
                const unsigned short *__restrict__ narrow, const int *__restrict__ wide,
                const void *__restrict__ values, const double *__restrict__ table, int k, int width, int split,
                double alpha, const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y,
                long long ldy, double *__restrict__ sums) {
  const Lane<V> lane(k, width, split);
  const bool has_segment = lane.group < segments;
  Columns<V> total;
  if (has_segment && lane.is_active && alpha != 0.0) {
    const Packed<BYTES> packed{bases, places, narrow, wide, values, table};
    const int part = (int)lane.group / part_size, base = __ldg(bases + part);
    // Where the column of nonzero 0 would lie if the part began there.
    const long long origin = __ldg(places + part) - begins[(long long)part * part_size];
    const Pointer begin = begins[lane.group] + lane.part, end = begins[lane.group + 1];
    const double *const first = x + lane.column;
    if (base >= 0)
      total.add(begin, end, split, PartEntries<unsigned short, BYTES>{packed, narrow + origin, base}, first, ldx);
    else
      total.add(begin, end, split, PartEntries<int, BYTES>{packed, wide + origin, 0}, first, ldx);
  }
  total.join(width, split);
  if (has_segment && lane.writes) write_segment(lane, total, targets[lane.group], k, alpha, beta, y, ldy, sums);
}
