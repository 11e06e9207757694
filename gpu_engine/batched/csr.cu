#include "batch.cuh"

/// The block's problem; its arrays begin at its first row, column and entry.
struct Problem {
  int n_rows, n_cols, nnz;
  const int *indptr, *indices;
  const double *values, *x;
  double *y;

  __device__ __forceinline__ Problem(const long long *__restrict__ rows, const long long *__restrict__ cols,
                                     const long long *__restrict__ entries, const int *__restrict__ all_indptr,
                                     const int *__restrict__ all_indices, const double *__restrict__ all_values,
                                     const double *__restrict__ all_x, double *__restrict__ all_y) {
    const long long number = blockIdx.x, row = rows[number], col = cols[number], entry = entries[number];
    n_rows = (int)(rows[number + 1] - row);
    n_cols = (int)(cols[number + 1] - col);
    nnz = (int)(entries[number + 1] - entry);
    indptr = all_indptr + row + number;
    indices = all_indices + entry;
    values = all_values + entry;
    x = all_x + col;
    y = all_y + row;
  }
};

/// Entries of a row in flight: more take the registers with which two blocks of 1,024 threads fit a multiprocessor.
constexpr int AHEAD = 2;

/// y[row] := A·x, one thread a row.
template <bool ADDS, bool STAGED>
__global__ void __launch_bounds__(1024)
    batched_scalar(const long long *__restrict__ rows, const long long *__restrict__ cols,
                   const long long *__restrict__ entries, const int *__restrict__ indptr,
                   const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                   double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  const double *mine = stage<STAGED>(problem.x, problem.n_cols);
  for (int row = threadIdx.x; row < problem.n_rows; row += blockDim.x) {
    const int end = __ldg(problem.indptr + row + 1);
    double total = 0.0;
#pragma unroll AHEAD
    for (int entry = __ldg(problem.indptr + row); entry < end; ++entry) {
      const int column = __ldg(problem.indices + entry);
      total += __ldg(problem.values + entry) * (STAGED ? mine[column] : __ldg(mine + column));
    }
    problem.y[row] = ADDS ? problem.y[row] + total : total;
  }
}

/// y[row] := A·x, `lanes` (a power of two, at most 32) consecutive threads a row. A warp walks its rows as one, for all
/// its lanes take part in the sums.
template <bool ADDS, bool STAGED>
__device__ __forceinline__ void multiply_rows(int lanes, const Problem &problem, const double *mine) {
  const int group = threadIdx.x % WARP / lanes, lane = threadIdx.x % lanes;
  for (int first = threadIdx.x / WARP * (WARP / lanes); first < problem.n_rows; first += blockDim.x / lanes) {
    const int row = first + group;
    double total = 0.0;
    if (row < problem.n_rows) {
      const int end = __ldg(problem.indptr + row + 1);
#pragma unroll AHEAD
      for (int entry = __ldg(problem.indptr + row) + lane; entry < end; entry += lanes) {
        const int column = stream(problem.indices + entry);
        total += stream(problem.values + entry) * (STAGED ? mine[column] : __ldg(mine + column));
      }
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      total += __shfl_down_sync(FULL_WARP, total, offset);
    if (row < problem.n_rows && lane == 0) problem.y[row] = ADDS ? problem.y[row] + total : total;
  }
}

/// y[row] := A·x, a warp a row.
template <bool ADDS, bool STAGED>
__global__ void __launch_bounds__(1024)
    batched_vector(const long long *__restrict__ rows, const long long *__restrict__ cols,
                   const long long *__restrict__ entries, const int *__restrict__ indptr,
                   const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                   double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  multiply_rows<ADDS, STAGED>(WARP, problem, stage<STAGED>(problem.x, problem.n_cols));
}

/// y[row] := A·x, as many lanes a row as the power of two from the problem's mean row up, at most 32.
template <bool ADDS, bool STAGED>
__global__ void __launch_bounds__(1024)
    batched_smart(const long long *__restrict__ rows, const long long *__restrict__ cols,
                  const long long *__restrict__ entries, const int *__restrict__ indptr,
                  const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                  double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  int lanes = 1;
  while (lanes < WARP && (long long)lanes * problem.n_rows < problem.nnz)
    lanes *= 2;
  multiply_rows<ADDS, STAGED>(lanes, problem, stage<STAGED>(problem.x, problem.n_cols));
}
