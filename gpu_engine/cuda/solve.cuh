#pragma once
#include "common.cuh"

/// Threads of a block of every kernel of a solver, and most blocks: a total reads one partial sum per block.
constexpr int SOLVE_BLOCK = 256, SOLVE_BLOCKS_MAX = 1024;

/// Status of gpu_engine/solvers/base.py, by number.
enum Outcome { RUNNING, CONVERGED, ITERATIONS_MAX, INDEFINITE, BREAKDOWN, NOT_FINITE, STAGNATED, INDEFINITE_M };

/// What a kernel does for z = M·r: nothing (z is r), a product with a diagonal, or read what M has written.
enum Preconditioner { NONE, DIAGONAL, APART };

/// State of a solve; gpu_engine/solvers/state.py has its dtype. A kernel that reads a number in all blocks never
/// writes it.
struct Solve {
  double bound; // the norm of the residual that has converged
  double norm;  // of the true residual, when it was last computed
  double least; // of the true residual of the best iterate
  double scalars[16];
  long long iterations, iterations_max, checks, checks_max;
  int status;
  int active;       // whether this iteration changes anything
  int replacements; // times that the recurrence has started
  int improved;     // whether x is the best iterate
  int continues;    // whether the last check found that the recurrence goes on
  int unused;
};

/// Sums of the recurrence: each is one partial sum per block.
enum Sum { NORM, GAMMA, FIRST, SECOND, SUMS };

/// Sums each number over the block, in the same order every time; all threads hold the results.
template <int COUNT> __device__ __forceinline__ void sum_blocks(double (&values)[COUNT]) {
  __shared__ double warps[COUNT][SOLVE_BLOCK / WARP];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    values[k] = sum_lanes<WARP>(values[k]);
    if (threadIdx.x % WARP == 0) warps[k][threadIdx.x / WARP] = values[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    double total = 0.0;
#pragma unroll
    for (int warp = 0; warp < SOLVE_BLOCK / WARP; ++warp)
      total += warps[k][warp];
    values[k] = total;
  }
}

/// Adds the block's part of each sum, for the kernels that follow.
template <int COUNT>
__device__ __forceinline__ void write_sums(double *__restrict__ partials, const int (&sums)[COUNT],
                                           double (&values)[COUNT]) {
  sum_blocks(values);
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int k = 0; k < COUNT; ++k)
    partials[sums[k] * SOLVE_BLOCKS_MAX + blockIdx.x] = values[k];
}

/// Totals of sums that an earlier kernel wrote with `blocks` blocks; every block computes the same bits.
template <int COUNT>
__device__ __forceinline__ void read_sums(const double *__restrict__ partials, int blocks, const int (&sums)[COUNT],
                                          double (&totals)[COUNT]) {
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    totals[k] = 0.0;
    for (int block = threadIdx.x; block < blocks; block += SOLVE_BLOCK)
      totals[k] += partials[sums[k] * SOLVE_BLOCKS_MAX + block];
  }
  sum_blocks(totals);
}

/// First statement of every kernel of a solver: its launch may overlap the end of the kernel before it.
__device__ __forceinline__ void follow() {
  let_next_start();
  await_previous();
}

/// Whether the block may write what all of them know.
__device__ __forceinline__ bool is_writer() {
  return blockIdx.x == 0 && threadIdx.x == 0;
}

/// Whether an iteration begins: the recurrence has not converged and may go on. NaN has, as far as it is concerned.
__device__ __forceinline__ bool goes_on(const Solve *solve, double square) {
  return solve->status == RUNNING && sqrt(square) > solve->bound && solve->iterations < solve->iterations_max;
}

/// Whether this kernel takes part: the iteration has begun and has not broken down.
__device__ __forceinline__ bool takes_part(const Solve *solve) {
  return solve->active && solve->status == RUNNING;
}

/// How a solve has ended, by its true residual and that of its best iterate; RUNNING if the recurrence starts, or
/// starts again, which it has done `starts` times. `ending` of gpu_engine/solvers/host.py decides the same, with its
/// PROGRESS and REPLACEMENTS_MAX. CYCLES: the recurrence starts again in any case, as GMRES does, while the residual
/// falls.
template <bool CYCLES>
__device__ __forceinline__ Outcome ending(double norm, double before, double bound, int starts, bool is_spent,
                                          Outcome outcome) {
  constexpr double PROGRESS = CYCLES ? 1.0 - 0x1p-52 : 0.5;
  constexpr int REPLACEMENTS_MAX = 3;
  if (norm <= bound) return CONVERGED;
  if (!(norm < 1.0 / 0.0)) return NOT_FINITE;
  if (outcome != RUNNING && outcome != BREAKDOWN) return outcome;
  if (is_spent) return ITERATIONS_MAX;
  const bool stalls = starts > 0 && ((!CYCLES && starts > REPLACEMENTS_MAX) || !(norm <= PROGRESS * before));
  if (!stalls) return RUNNING;
  return outcome == BREAKDOWN ? BREAKDOWN : STAGNATED;
}

/// Ends the recurrence.
__device__ __forceinline__ void end_with(Solve *solve, Outcome outcome) {
  if (is_writer()) solve->status = outcome;
}

/// Rows of a thread of a grid that covers n rows in strides, from the first or from the last row on. Consecutive
/// kernels take turns, so that each begins with the rows that the one before has left in L2; SpMVs begin with the
/// first.
#define EACH_ROW(row, n)                                                                                               \
  for (int row = blockIdx.x * SOLVE_BLOCK + threadIdx.x; row < (n); row += gridDim.x * SOLVE_BLOCK)
#define EACH_ROW_BACK(row, n)                                                                                          \
  for (int row = (n) - 1 - (blockIdx.x * SOLVE_BLOCK + threadIdx.x); row >= 0; row -= gridDim.x * SOLVE_BLOCK)

template <int PRECONDITION>
__device__ __forceinline__ double precondition(int row, double r, const double *__restrict__ m) {
  if constexpr (PRECONDITION == NONE) return r;
  if constexpr (PRECONDITION == DIAGONAL) return __ldg(m + row) * r;
  return m[row];
}
