#include "spmm.cuh"

/// Y := α·A·X + β·Y; a group of lanes computes a row, for a tile of columns per blockIdx.y.
template <int V, typename Pointer>
__global__ void __launch_bounds__(SPMM_BLOCK)
    spmm_rows(int n_rows, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
              const double *__restrict__ values, int k, int width, int split, double alpha,
              const double *__restrict__ x, long long ldx, double beta, double *__restrict__ y, long long ldy) {
  const Lane<V> lane(k, width, split);
  const bool has_row = lane.group < n_rows;
  Columns<V> total;
  if (has_row && lane.is_active && alpha != 0.0)
    total.add(indptr[lane.group] + lane.part, indptr[lane.group + 1], split, CsrEntries{indices, values},
              x + lane.column, ldx);
  total.join(width, split);
  if (has_row && lane.writes) total.write(alpha, beta, y + lane.group * ldy + lane.column);
}
