#include "column_solve.cuh"
#include "residual.cuh"

/// Sets the condition of a node of the CUDA graph that this kernel is part of.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

/// R := B − A·X in twice the precision in the columns that have not ended, a thread per element; ‖r‖² of each.
template <typename Pointer>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_residuals(int n, int k, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                     const double *__restrict__ values, const double *__restrict__ x, const double *__restrict__ b,
                     double *__restrict__ r, double *__restrict__ partials, const Column *state) {
  follow();
  const ColumnLane lane(k);
  double sums[1] = {0.0};
  EACH_ELEMENT(at, row, lane, n, !state[lane.column].ended) {
    double total = b[at], error = 0.0;
    const Pointer end = indptr[row + 1];
    for (Pointer entry = indptr[row]; entry < end; ++entry) {
      const double value = values[entry], other = x[(long long)indices[entry] * k + lane.column];
      const double product = __dmul_rn(value, other);
      add(-product, total, error);
      error = __dsub_rn(error, __fma_rn(value, other, -product));
    }
    const double residual = __dadd_rn(total, error);
    r[at] = residual, sums[0] += residual * residual;
  }
  write_column_sums(partials, lane, {NORM}, sums);
}

/// A block per column that has not ended: the norm of its true residual.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_norms(int blocks, const double *__restrict__ partials, Column *state) {
  follow();
  double totals[1];
  read_column_sums(partials, blocks, {NORM}, totals);
  Column &column = state[blockIdx.x];
  if (threadIdx.x == 0 && !column.ended) column.norm = sqrt(totals[0]);
}

/// One block with a thread per column, before recurrences start or start again: how a column ended, if it has, and
/// what becomes of its best iterate. CYCLES: as in `ending`.
template <bool CYCLES>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    judge_columns(int k, Column *state, Columns *columns, unsigned long long again, unsigned long long inner) {
  follow();
  bool runs = false;
  if (threadIdx.x < k) {
    Column &column = state[threadIdx.x];
    if (column.ended) {
      column.best = LEAVE;
    } else {
      const double norm = column.norm, before = column.least;
      const Outcome status = ending<CYCLES>(norm, before, column.bound, column.starts,
                                            column.iterations >= columns->iterations_max, (Outcome)column.status);
      column.best = column.starts == 0 || norm <= before ? KEEP : RESTORE;
      if (column.best == KEEP) column.least = norm;
      column.status = status;
      runs = status == RUNNING;
      column.ended = !runs;
      column.goes_on = runs;
      if (runs) ++column.starts;
    }
  }
  const int active = __syncthreads_or(runs);
  if (threadIdx.x != 0) return;
  columns->active = active;
  if (again) cudaGraphSetConditional(again, active);
  if (inner) cudaGraphSetConditional(inner, active);
}

/// best := x, or x := best where x is worse, per column.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    keep_best_columns(int n, int k, double *__restrict__ x, double *__restrict__ best, const Column *state) {
  follow();
  const ColumnLane lane(k);
  const int what = state[lane.column].best;
  EACH_ELEMENT(at, row, lane, n, what != LEAVE) {
    if (what == KEEP)
      best[at] = x[at];
    else
      x[at] = best[at];
  }
}

/// One block with a thread per column, after some iterations: the norms of the recurrences, [checks, k], and whether a
/// column goes on.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    check_columns(int k, const Column *state, Columns *columns, double *__restrict__ norms, unsigned long long inner) {
  follow();
  const long long checks = columns->checks;
  const bool has_column = threadIdx.x < k;
  if (has_column && checks < columns->checks_max) norms[checks * k + threadIdx.x] = state[threadIdx.x].norm;
  const int continues = __syncthreads_or(has_column && state[threadIdx.x].goes_on);
  if (threadIdx.x != 0) return;
  columns->checks = checks + 1;
  columns->continues = continues;
  if (inner) cudaGraphSetConditional(inner, continues);
}
