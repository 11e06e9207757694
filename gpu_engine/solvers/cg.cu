#include "solve.cuh"

/// p := z, γ := rᵀz. m is the diagonal of M, or z itself where M is applied apart.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    cg_begin(int n, const double *__restrict__ r, const double *__restrict__ m, double *__restrict__ p,
             double *__restrict__ partials) {
  follow();
  double sums[2] = {0.0, 0.0};
  EACH_ROW(row, n) {
    const double residual = r[row], z = precondition<M>(row, residual, m);
    p[row] = z, sums[0] += residual * residual, sums[1] += residual * z;
  }
  write_sums(partials, {NORM, GAMMA}, sums);
}

/// δ := pᵀq, q = A·p; begins an iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    cg_curvature(int n, const double *__restrict__ p, const double *__restrict__ q, double *__restrict__ partials,
                 Solve *solve) {
  follow();
  double totals[2];
  read_sums(partials, gridDim.x, {NORM, GAMMA}, totals);
  const bool active = goes_on(solve, totals[0]);
  if (is_writer()) solve->active = active, solve->scalars[0] = totals[1];
  if (!active) return;
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) sums[0] += p[row] * q[row];
  write_sums(partials, {FIRST}, sums);
}

/// r := r − α·q, α = γ / δ.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    cg_residual(int n, const double *__restrict__ q, double *__restrict__ r, const double *__restrict__ m,
                double *__restrict__ partials, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double totals[1];
  read_sums(partials, gridDim.x, {FIRST}, totals);
  const double gamma = solve->scalars[0], alpha = gamma / totals[0];
  if (gamma <= 0.0) return end_with(solve, INDEFINITE_M);
  if (totals[0] <= 0.0) return end_with(solve, INDEFINITE);
  if (is_writer()) solve->scalars[1] = alpha;
  double sums[2] = {0.0, 0.0};
  EACH_ROW(row, n) {
    const double residual = r[row] - alpha * q[row];
    r[row] = residual, sums[0] += residual * residual;
    if constexpr (M != APART) sums[1] += residual * precondition<M>(row, residual, m);
  }
  write_sums(partials, {NORM, GAMMA}, sums);
}

/// γ := rᵀz, where M was applied apart.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    cg_projection(int n, const double *__restrict__ r, const double *__restrict__ z, double *__restrict__ partials,
                  const Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double sums[1] = {0.0};
  EACH_ROW(row, n) sums[0] += r[row] * z[row];
  write_sums(partials, {GAMMA}, sums);
}

/// x := x + α·p, p := z + β·p, β = γ' / γ; ends an iteration.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    cg_direction(int n, const double *__restrict__ r, const double *__restrict__ m, double *__restrict__ p,
                 double *__restrict__ x, const double *__restrict__ partials, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double totals[1];
  read_sums(partials, gridDim.x, {GAMMA}, totals);
  const double alpha = solve->scalars[1], beta = totals[0] / solve->scalars[0];
  EACH_ROW_BACK(row, n) {
    const double direction = p[row];
    x[row] += alpha * direction;
    p[row] = precondition<M>(row, r[row], m) + beta * direction;
  }
  if (is_writer()) ++solve->iterations;
}
