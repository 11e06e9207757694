#include "common.cuh"

/// y += A·x for entries in any order of their rows, a thread an entry.
__global__ void add_entries(long long nnz, const int *__restrict__ rows, const int *__restrict__ columns,
                            const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const long long entry = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry < nnz) atomicAdd(y + stream(rows + entry), stream(values + entry) * __ldg(x + stream(columns + entry)));
}

/// total[lines] += more, for lines that are all different.
__global__ void add_lines(long long count, const int *__restrict__ lines, const double *__restrict__ more,
                          double *__restrict__ total) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) total[stream(lines + i)] += stream(more + i);
}
