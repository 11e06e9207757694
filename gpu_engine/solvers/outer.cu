#include "residual.cuh"
#include "solve.cuh"

/// Sets the condition of a node of the CUDA graph that this kernel is part of.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

/// r := b − A·x in twice the precision, LANES threads per row of CSR; ‖r‖².
template <typename Pointer, int LANES>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    true_residual(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                  const double *__restrict__ values, const double *__restrict__ x, const double *__restrict__ b,
                  double *__restrict__ r, double *__restrict__ partials) {
  follow();
  double sums[1] = {0.0};
  const int lane = threadIdx.x % LANES, groups = SOLVE_BLOCK / LANES;
  // Whole warps stay in the loop, because lanes exchange their sums.
  const int last = (n + groups - 1) / groups * groups;
  for (int row = blockIdx.x * groups + threadIdx.x / LANES; row < last; row += gridDim.x * groups) {
    const double residual = exact_residual<LANES>(row, n, indptr, indices, values, x, b);
    if (row < n && lane == 0) r[row] = residual, sums[0] += residual * residual;
  }
  write_sums(partials, {NORM}, sums);
}

/// ‖b‖².
__global__ void __launch_bounds__(SOLVE_BLOCK)
    square_right(int n, const double *__restrict__ b, double *__restrict__ partials) {
  follow();
  double sums[1] = {0.0};
  EACH_ROW(row, n) sums[0] += b[row] * b[row];
  write_sums(partials, {NORM}, sums);
}

/// One block: the state of a solve that has not started, as Workspace.begin writes it for the bound
/// max(rtol·‖b‖, atol).
__global__ void __launch_bounds__(SOLVE_BLOCK)
    begin_solve(int blocks, const double *__restrict__ partials, Solve *solve, double rtol, double atol,
                long long iterations_max, long long checks_max) {
  follow();
  double totals[1];
  read_sums(partials, blocks, {NORM}, totals);
  if (threadIdx.x != 0) return;
  *solve = Solve{};
  solve->bound = fmax(rtol * sqrt(totals[0]), atol);
  solve->least = 1.0 / 0.0;
  solve->iterations_max = iterations_max;
  solve->checks_max = checks_max;
}

/// One block, before the recurrence starts or starts again: how the solve ended, if it has, and whether x is the best
/// iterate so far.
template <bool CYCLES>
__global__ void __launch_bounds__(SOLVE_BLOCK) judge(int blocks, const double *__restrict__ partials, Solve *solve,
                                                     unsigned long long again, unsigned long long inner) {
  follow();
  double totals[1];
  read_sums(partials, blocks, {NORM}, totals);
  if (threadIdx.x != 0) return;
  const double norm = sqrt(totals[0]), before = solve->least;
  const bool first = solve->replacements == 0, is_spent = solve->iterations >= solve->iterations_max;
  const Outcome status =
      ending<CYCLES>(norm, before, solve->bound, solve->replacements, is_spent, (Outcome)solve->status);
  solve->improved = first || norm <= before;
  if (solve->improved) solve->least = norm;
  solve->norm = norm;
  solve->status = status;
  solve->active = status == RUNNING;
  if (status == RUNNING) ++solve->replacements;
  if (again) cudaGraphSetConditional(again, status == RUNNING);
  if (inner) cudaGraphSetConditional(inner, status == RUNNING);
}

/// best := x, or x := best where x is worse.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    keep_best(int n, double *__restrict__ x, double *__restrict__ best, const Solve *solve) {
  follow();
  const bool improved = solve->improved;
  EACH_ROW(row, n) {
    if (improved)
      best[row] = x[row];
    else
      x[row] = best[row];
  }
}

/// One block, after some iterations: the norm of the recurrence, and whether it goes on.
__global__ void __launch_bounds__(SOLVE_BLOCK) check(int blocks, const double *__restrict__ partials, Solve *solve,
                                                     double *__restrict__ norms, unsigned long long inner) {
  follow();
  double totals[1];
  read_sums(partials, blocks, {NORM}, totals);
  if (threadIdx.x != 0) return;
  if (solve->checks < solve->checks_max) norms[solve->checks] = sqrt(totals[0]);
  ++solve->checks;
  const bool continues = goes_on(solve, totals[0]);
  solve->continues = continues;
  if (inner) cudaGraphSetConditional(inner, continues);
}
