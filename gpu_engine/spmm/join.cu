#include "spmm.cuh"

/// y := α·(sum of the segments) + β·y of the rows that are cut, in the order of the segments; a lane per element.
__global__ void __launch_bounds__(SPMM_BLOCK)
    join_segments(int rows, const int *__restrict__ cut, const int *__restrict__ firsts,
                  const double *__restrict__ sums, int k, int width, double alpha, double beta, double *__restrict__ y,
                  long long ldy) {
  const Lane<1> lane(k, width, 1);
  if (lane.group >= rows || !lane.writes) return;
  Columns<1> total;
  for (int segment = firsts[lane.group]; segment < firsts[lane.group + 1]; ++segment)
    total.sum[0] += sums[(long long)segment * k + lane.column];
  total.write(alpha, beta, y + cut[lane.group] * ldy + lane.column);
}
