#pragma once
#include "solve.cuh"

/// What becomes of the best iterate of a column: it is x, x becomes it, or both stay, because the column has ended.
enum Best { KEEP, RESTORE, LEAVE };

/// State of one column of a solve with several right-hand sides; COLUMN of gpu_engine/solvers/columns/workspace.py. A
/// kernel that reads a number in several blocks never writes it.
struct Column {
  double bound; // the norm of the residual that has converged
  double norm;  // of the residual: the true one, then that of the recurrence
  double least; // of the true residual of the best iterate
  double gamma, alpha, beta;
  long long iterations;
  int status;  // Outcome: final once the column has ended, before that of its recurrence
  int ended;   // whether the column has ended
  int goes_on; // whether the next iteration changes the column
  int active;  // whether this iteration changes the column
  int starts;  // times that its recurrence has started
  int best;    // Best
  int step;    // vectors of its basis that have been multiplied
  int again;   // whether they are orthogonalized a second time
};

/// State of all columns together; COLUMNS of workspace.py.
struct Columns {
  long long iterations_max, checks, checks_max;
  int active;    // whether a column has not ended
  int continues; // whether the last check found a column that goes on
  int step;      // iterations of this cycle
};

/// Elements of a row-major block [n, k] that a thread visits: those of one column, k ≤ SOLVE_BLOCK. Neighboring threads
/// read neighboring elements, also from row to row.
struct ColumnLane {
  int k, rows, row, column; // rows of a step of the block, and that of the thread among them
  bool is_used;

  __device__ __forceinline__ explicit ColumnLane(int k)
      : k(k), rows(SOLVE_BLOCK / k), row(threadIdx.x / k), column(threadIdx.x % k), is_used(row < rows) {}

  __device__ __forceinline__ long long first() const { return (long long)blockIdx.x * rows + row; }
  __device__ __forceinline__ long long step() const { return (long long)gridDim.x * rows; }
};

/// Rows of a thread, if its column `takes_part`; `at` is the element.
#define EACH_ELEMENT(at, row, lane, n, takes_part)                                                                     \
  for (long long row = (lane).is_used && (takes_part) ? (lane).first() : (n), at = row * (lane).k + (lane).column;     \
       row < (n); row += (lane).step(), at += (lane).step() * (lane).k)

/// Adds up values per column over the block, in the same order every time; the threads of its first row hold the sums.
template <int COUNT> __device__ __forceinline__ void sum_column_rows(const ColumnLane &lane, double (&values)[COUNT]) {
  __shared__ double parts[COUNT][SOLVE_BLOCK];
  // Threads may still read the sums before.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    parts[i][threadIdx.x] = values[i];
  int half = 1;
  while (2 * half < lane.rows)
    half *= 2;
  for (; half > 0; half /= 2) {
    __syncthreads();
    if (lane.row < half && lane.row + half < lane.rows)
#pragma unroll
      for (int i = 0; i < COUNT; ++i)
        parts[i][threadIdx.x] += parts[i][threadIdx.x + half * lane.k];
  }
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    values[i] = parts[i][threadIdx.x];
}

/// Where the block writes its part of a sum of a column.
__device__ __forceinline__ double &column_part(double *__restrict__ partials, const ColumnLane &lane, int sum) {
  return partials[((long long)sum * lane.k + lane.column) * SOLVE_BLOCKS_MAX + blockIdx.x];
}

/// Adds the block's part of each sum of each column, for the kernels that follow; all threads call it.
template <int COUNT>
__device__ __forceinline__ void write_column_sums(double *__restrict__ partials, const ColumnLane &lane,
                                                  const int (&sums)[COUNT], double (&values)[COUNT]) {
  sum_column_rows(lane, values);
  if (lane.row != 0) return;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    column_part(partials, lane, sums[i]) = values[i];
}

/// The same for the sums first, first + 1, … below `end`.
template <int COUNT>
__device__ __forceinline__ void write_column_sums(double *__restrict__ partials, const ColumnLane &lane, int first,
                                                  int end, double (&values)[COUNT]) {
  sum_column_rows(lane, values);
  if (lane.row != 0) return;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    if (first + i < end) column_part(partials, lane, first + i) = values[i];
}

/// Totals of sums of the column blockIdx.x of k = gridDim.x, which an earlier kernel wrote with `blocks` blocks.
template <int COUNT>
__device__ __forceinline__ void read_column_sums(const double *__restrict__ partials, int blocks,
                                                 const int (&sums)[COUNT], double (&totals)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    totals[i] = 0.0;
    for (int block = threadIdx.x; block < blocks; block += SOLVE_BLOCK)
      totals[i] += partials[((long long)sums[i] * gridDim.x + blockIdx.x) * SOLVE_BLOCKS_MAX + block];
  }
  sum_blocks(totals);
}

/// Whether a column goes on from a residual of this norm. NaN has converged, as far as the recurrence is concerned.
__device__ __forceinline__ bool column_goes_on(const Column &column, const Columns *columns, double norm) {
  return column.status == RUNNING && norm > column.bound && column.iterations < columns->iterations_max;
}

/// z = M·r of an element; m as in `precondition`.
template <int M>
__device__ __forceinline__ double column_image(long long row, long long at, double r, const double *__restrict__ m) {
  if constexpr (M == NONE) return r;
  if constexpr (M == DIAGONAL) return __ldg(m + row) * r;
  return m[at];
}
