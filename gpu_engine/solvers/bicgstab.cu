#include "solve.cuh"

/// Scalars of BiCGSTAB in Solve: those of the iteration, and ‖r̂‖.
enum Scalar { RHO, ALPHA, OMEGA, SHADOW };

/// r̂ := r, p := r, M·p.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_begin(int n, const double *__restrict__ r, const double *__restrict__ m, double *__restrict__ shadow,
                   double *__restrict__ p, double *__restrict__ mp, double *__restrict__ partials, Solve *solve) {
  follow();
  double sums[2] = {0.0, 0.0};
  if (is_writer()) solve->scalars[SHADOW] = solve->norm;
  EACH_ROW(row, n) {
    const double residual = r[row];
    shadow[row] = residual, p[row] = residual, sums[0] += residual * residual;
    if constexpr (M == DIAGONAL) mp[row] = precondition<M>(row, residual, m);
  }
  sums[1] = sums[0];
  write_sums(partials, {NORM, GAMMA}, sums);
}

/// r̂ᵀv, v = A·M·p; begins an iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_projection(int n, const double *__restrict__ shadow, const double *__restrict__ v,
                        double *__restrict__ partials, Solve *solve) {
  follow();
  constexpr double TINY = 0x1p-104; // ε² of fp64
  double totals[2];
  read_sums(partials, gridDim.x, {NORM, GAMMA}, totals);
  const bool active = goes_on(solve, totals[0]);
  if (is_writer()) solve->active = active, solve->scalars[RHO] = totals[1];
  if (!active) return;
  if (fabs(totals[1]) <= TINY * solve->scalars[SHADOW] * sqrt(totals[0])) return end_with(solve, BREAKDOWN);
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) sums[0] += shadow[row] * v[row];
  write_sums(partials, {FIRST}, sums);
}

/// r := r − α·v, M·r.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_half(int n, const double *__restrict__ v, double *__restrict__ r, const double *__restrict__ m,
                  double *__restrict__ mr, const double *__restrict__ partials, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double totals[1];
  read_sums(partials, gridDim.x, {FIRST}, totals);
  if (totals[0] == 0.0) return end_with(solve, BREAKDOWN);
  const double alpha = solve->scalars[RHO] / totals[0];
  if (is_writer()) solve->scalars[ALPHA] = alpha;
  EACH_ROW(row, n) {
    const double residual = r[row] - alpha * v[row];
    r[row] = residual;
    if constexpr (M == DIAGONAL) mr[row] = precondition<M>(row, residual, m);
  }
}

/// tᵀr and tᵀt, t = A·M·r.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_stabilizer(int n, const double *__restrict__ r, const double *__restrict__ t,
                        double *__restrict__ partials, const Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double sums[2] = {0.0, 0.0};
  EACH_ROW_BACK(row, n) {
    const double product = t[row];
    sums[0] += product * r[row], sums[1] += product * product;
  }
  write_sums(partials, {FIRST, SECOND}, sums);
}

/// x := x + α·M·p + ω·M·r, r := r − ω·t; ends an iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_update(int n, const double *__restrict__ shadow, const double *mp, const double *mr,
                    const double *__restrict__ t, double *r, double *__restrict__ x, double *__restrict__ partials,
                    Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  double totals[2];
  read_sums(partials, gridDim.x, {FIRST, SECOND}, totals);
  const double alpha = solve->scalars[ALPHA], omega = totals[1] > 0.0 ? totals[0] / totals[1] : 0.0;
  double sums[2] = {0.0, 0.0};
  EACH_ROW(row, n) {
    x[row] += alpha * mp[row] + omega * mr[row];
    const double residual = r[row] - omega * t[row];
    r[row] = residual, sums[0] += residual * residual, sums[1] += shadow[row] * residual;
  }
  write_sums(partials, {NORM, GAMMA}, sums);
  if (is_writer()) solve->scalars[OMEGA] = omega, ++solve->iterations;
}

/// p := r + β·(p − ω·v), β = (ρ' / ρ)·(α / ω), M·p.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    bicgstab_direction(int n, const double *__restrict__ r, const double *__restrict__ v, double *__restrict__ p,
                       const double *__restrict__ m, double *__restrict__ mp, const double *__restrict__ partials,
                       Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  const double omega = solve->scalars[OMEGA];
  if (omega == 0.0) return end_with(solve, BREAKDOWN);
  double totals[1];
  read_sums(partials, gridDim.x, {GAMMA}, totals);
  const double beta = totals[0] / solve->scalars[RHO] * (solve->scalars[ALPHA] / omega);
  EACH_ROW_BACK(row, n) {
    const double direction = r[row] + beta * (p[row] - omega * v[row]);
    p[row] = direction;
    if constexpr (M == DIAGONAL) mp[row] = precondition<M>(row, direction, m);
  }
}
