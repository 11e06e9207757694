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
constexpr int AHEAD = 3;

/// The same of a thread that has a row to itself, whose loads no other thread joins.
constexpr int AHEAD_OF_ONE = 4;

/// Σ over every STEP-th entry of a row from `entry` on, AHEAD of them in flight. Of a plain loop with a step the
/// compiler keeps one in flight.
template <int STEP, typename Gather>
__device__ __forceinline__ double sum_entries(const Problem &problem, int entry, int end, const Gather &mine) {
  double total = 0.0;
#pragma unroll 1
  for (; entry + (AHEAD - 1) * STEP < end; entry += AHEAD * STEP) {
    int column[AHEAD];
    double value[AHEAD];
#pragma unroll
    for (int item = 0; item < AHEAD; ++item) {
      column[item] = __ldg(problem.indices + entry + item * STEP);
      value[item] = __ldg(problem.values + entry + item * STEP);
    }
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      total += value[item] * mine(column[item]);
  }
#pragma unroll 1
  for (; entry < end; entry += STEP)
    total += __ldg(problem.values + entry) * mine(__ldg(problem.indices + entry));
  return total;
}

/// y[row] := A·x, one thread a row.
template <bool ADDS, bool EVERY>
__global__ void __launch_bounds__(1024)
    batched_scalar(int room, const long long *__restrict__ rows, const long long *__restrict__ cols,
                   const long long *__restrict__ entries, const int *__restrict__ indptr,
                   const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                   double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  stage<EVERY>(problem.x, problem.n_cols, room, [&](const auto &mine) {
    for (int row = threadIdx.x; row < problem.n_rows; row += blockDim.x) {
      const int end = __ldg(problem.indptr + row + 1);
      double total = 0.0;
#pragma unroll AHEAD_OF_ONE
      for (int entry = __ldg(problem.indptr + row); entry < end; ++entry) {
        const int column = __ldg(problem.indices + entry);
        total += __ldg(problem.values + entry) * mine(column);
      }
      problem.y[row] = ADDS ? problem.y[row] + total : total;
    }
  });
}

/// y[row] := A·x, LANES (a power of two, at most 32) consecutive threads a row. A warp walks its rows as one, for all
/// its lanes take part in the sums.
template <int LANES, bool ADDS, typename Gather>
__device__ __forceinline__ void multiply_rows(const Problem &problem, const Gather &mine) {
  const int group = threadIdx.x % WARP / LANES, lane = threadIdx.x % LANES;
  for (int first = threadIdx.x / WARP * (WARP / LANES); first < problem.n_rows; first += blockDim.x / LANES) {
    const int row = first + group;
    double total = 0.0;
    if (row < problem.n_rows) {
      const int begin = __ldg(problem.indptr + row), end = __ldg(problem.indptr + row + 1);
      total = sum_entries<LANES>(problem, begin + lane, end, mine);
    }
    total = sum_lanes<LANES>(total);
    if (row < problem.n_rows && lane == 0) problem.y[row] = ADDS ? problem.y[row] + total : total;
  }
}

/// y[row] := A·x, as many lanes a row in every problem.
template <bool ADDS, bool EVERY, int LANES>
__global__ void __launch_bounds__(1024)
    batched_lanes(int room, const long long *__restrict__ rows, const long long *__restrict__ cols,
                  const long long *__restrict__ entries, const int *__restrict__ indptr,
                  const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                  double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  stage<EVERY>(problem.x, problem.n_cols, room, [&](const auto &mine) { multiply_rows<LANES, ADDS>(problem, mine); });
}

/// The same with as many lanes a row as the power of two from the problem's mean row up, at most LANES: each number has
/// code of its own, for a loop whose step is not known unrolls nothing.
template <int LANES, bool ADDS, typename Gather>
__device__ __forceinline__ void multiply_by_mean(const Problem &problem, const Gather &mine) {
  if constexpr (LANES == 1) {
    multiply_rows<1, ADDS>(problem, mine);
  } else {
    if (LANES / 2 * (long long)problem.n_rows < problem.nnz)
      multiply_rows<LANES, ADDS>(problem, mine);
    else
      multiply_by_mean<LANES / 2, ADDS>(problem, mine);
  }
}

/// y[row] := A·x, as many lanes a row as each problem's mean row asks for.
template <bool ADDS, bool EVERY>
__global__ void __launch_bounds__(1024)
    batched_smart(int room, const long long *__restrict__ rows, const long long *__restrict__ cols,
                  const long long *__restrict__ entries, const int *__restrict__ indptr,
                  const int *__restrict__ indices, const double *__restrict__ values, const double *__restrict__ x,
                  double *__restrict__ y) {
  const Problem problem(rows, cols, entries, indptr, indices, values, x, y);
  stage<EVERY>(problem.x, problem.n_cols, room, [&](const auto &mine) { multiply_by_mean<WARP, ADDS>(problem, mine); });
}
