#include "spmm.cuh"

/// Y := α·A·X + β·Y for rows of one segment; a group of lanes computes a segment, and `sums` gets those of longer rows.
template <int V, typename Pointer>
__global__ void __launch_bounds__(SPMM_BLOCK)
    spmm_segments(int segments, const Pointer *__restrict__ begins, const int *__restrict__ targets,
                  const int *__restrict__ indices, const double *__restrict__ values, int k, int width, int split,
                  double alpha, const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y,
                  long long ldy, double *__restrict__ sums) {
  const Lane<V> lane(k, width, split);
  const bool has_segment = lane.group < segments;
  Columns<V> total;
  if (has_segment && lane.is_active && alpha != 0.0)
    total.add(begins[lane.group] + lane.part, begins[lane.group + 1], split, CsrEntries{indices, values},
              x + lane.column, ldx);
  total.join(width, split);
  if (has_segment && lane.writes) write_segment(lane, total, targets[lane.group], k, alpha, beta, y, ldy, sums);
}
