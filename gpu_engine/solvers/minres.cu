#include "solve.cuh"

/// Scalars of MINRES in Solve; iteration k reads those at SCALARS·(k mod 2) and writes the others.
enum Scalar { C, S, C_BEFORE, S_BEFORE, ETA, BETA, BETA_BEFORE, SCALARS };

/// v := r, z := M·v.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_begin(int n, const double *__restrict__ r, const double *__restrict__ m, double *__restrict__ v,
                 double *__restrict__ z, double *__restrict__ v_before, double *__restrict__ w,
                 double *__restrict__ w_before, double *__restrict__ partials) {
  follow();
  double sums[2] = {0.0, 0.0};
  EACH_ROW(row, n) {
    const double residual = r[row], other = precondition<M>(row, residual, m);
    v[row] = residual, v_before[row] = 0.0, w[row] = 0.0, w_before[row] = 0.0;
    if constexpr (M == DIAGONAL) z[row] = other;
    sums[0] += residual * residual, sums[1] += residual * other;
  }
  write_sums(partials, {NORM, GAMMA}, sums);
}

/// One block: the scalars of the first iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_scalars(int blocks, const double *__restrict__ partials, Solve *solve) {
  follow();
  double totals[1];
  read_sums(partials, blocks, {GAMMA}, totals);
  if (threadIdx.x != 0 || !takes_part(solve)) return;
  const double beta = sqrt(totals[0]), first[SCALARS] = {1.0, 0.0, 1.0, 0.0, beta, beta, 1.0};
  for (int scalar = 0; scalar < SCALARS; ++scalar)
    solve->scalars[scalar] = first[scalar];
  if (totals[0] < 0.0) solve->status = INDEFINITE_M;
}

/// qᵀz, q = A·z; begins an iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_alpha(int n, const double *__restrict__ q, const double *__restrict__ z, double *__restrict__ partials,
                 Solve *solve) {
  follow();
  double totals[1];
  read_sums(partials, gridDim.x, {NORM}, totals);
  const bool active = goes_on(solve, totals[0]);
  if (is_writer()) solve->active = active;
  if (!active) return;
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) sums[0] += q[row] * z[row];
  write_sums(partials, {FIRST}, sums);
}

/// v' := q/β − (α/β)·v − (β/β₋)·v₋, in the place of v₋; z' := M·v'.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_lanczos(int n, int parity, const double *__restrict__ q, const double *__restrict__ v,
                   double *__restrict__ v_before, const double *__restrict__ m, double *__restrict__ z_after,
                   double *__restrict__ partials, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  const double *scalars = solve->scalars + parity * SCALARS, beta = scalars[BETA];
  if (beta == 0.0) return end_with(solve, BREAKDOWN);
  double totals[1];
  read_sums(partials, gridDim.x, {FIRST}, totals);
  const double alpha = totals[0] / (beta * beta), ratio = alpha / beta, before = beta / scalars[BETA_BEFORE];
  double sums[1] = {0.0};
  EACH_ROW(row, n) {
    const double after = q[row] / beta - ratio * v[row] - before * v_before[row];
    v_before[row] = after;
    if constexpr (M == APART) continue;
    const double other = precondition<M>(row, after, m);
    if constexpr (M == DIAGONAL) z_after[row] = other;
    sums[0] += after * other;
  }
  if constexpr (M != APART) write_sums(partials, {GAMMA}, sums);
}

/// z'ᵀv', where M was applied apart.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_projection(int n, const double *__restrict__ v, const double *__restrict__ z, double *__restrict__ partials,
                      const Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double sums[1] = {0.0};
  EACH_ROW(row, n) sums[0] += v[row] * z[row];
  write_sums(partials, {GAMMA}, sums);
}

/// The rotation, w' in the place of w₋, x, and r where its norm in M is not ‖r‖₂; ends an iteration.
template <bool RESIDUAL>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    minres_update(int n, int parity, const double *__restrict__ z, const double *__restrict__ v_after,
                  const double *__restrict__ w, double *__restrict__ w_before, double *__restrict__ x,
                  double *__restrict__ r, double *__restrict__ partials, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  const double *scalars = solve->scalars + parity * SCALARS;
  double totals[2];
  read_sums(partials, gridDim.x, {FIRST, GAMMA}, totals);
  if (totals[1] < 0.0) return end_with(solve, INDEFINITE_M);
  const double beta = scalars[BETA], c = scalars[C], s = scalars[S], eta = scalars[ETA];
  const double alpha = totals[0] / (beta * beta), beta_after = sqrt(totals[1]);
  const double below = c * alpha - scalars[C_BEFORE] * s * beta, diagonal = hypot(below, beta_after);
  if (diagonal == 0.0) return end_with(solve, BREAKDOWN);
  const double upper = s * alpha + scalars[C_BEFORE] * c * beta, far = scalars[S_BEFORE] * beta;
  const double c_after = below / diagonal, s_after = beta_after / diagonal, step = c_after * eta;
  const double back = beta_after > 0.0 ? s_after * step / beta_after : 0.0;
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) {
    const double direction = (z[row] / beta - far * w_before[row] - upper * w[row]) / diagonal;
    w_before[row] = direction, x[row] += step * direction;
    if constexpr (RESIDUAL) {
      const double residual = s_after * s_after * r[row] - back * v_after[row];
      r[row] = residual, sums[0] += residual * residual;
    }
  }
  const double eta_after = -s_after * eta;
  if (!RESIDUAL && is_writer()) sums[0] = eta_after * eta_after;
  write_sums(partials, {NORM}, sums);
  if (!is_writer()) return;
  const double next[SCALARS] = {c_after, s_after, c, s, eta_after, beta_after, beta};
  for (int scalar = 0; scalar < SCALARS; ++scalar)
    solve->scalars[(1 - parity) * SCALARS + scalar] = next[scalar];
  ++solve->iterations;
}
