#include "spmm.cuh"

/// Y := α·A·X + β·Y; a group of lanes computes R rows of Y, of which all nonzeros lie in blocks of R rows and columns:
/// R rows of X are loaded once for R·R nonzeros.
template <int V, int R>
__global__ void __launch_bounds__(SPMM_BLOCK)
    spmm_blocks(int block_rows, const int *__restrict__ pointers, const int *__restrict__ columns,
                const double *__restrict__ values, int k, int width, int split, double alpha,
                const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y, long long ldy) {
  const Lane<V> lane(k, width, split);
  const bool has_rows = lane.group < block_rows;
  Columns<V> totals[R];
  if (has_rows && lane.is_active && alpha != 0.0)
    for (int block = pointers[lane.group] + lane.part; block < pointers[lane.group + 1]; block += split) {
      const double *const entries = values + (long long)block * (R * R);
      const double *const rows = x + (long long)stream(columns + block) * R * ldx + lane.column;
#pragma unroll
      for (int column = 0; column < R; ++column) {
        double factor[V];
        load<V>(rows + column * ldx, factor);
#pragma unroll
        for (int row = 0; row < R; ++row)
          totals[row].add(stream(entries + row * R + column), factor);
      }
    }
#pragma unroll
  for (int row = 0; row < R; ++row) {
    totals[row].join(width, split);
    if (has_rows && lane.writes) totals[row].write(alpha, beta, y + (lane.group * R + row) * ldy + lane.column);
  }
}
