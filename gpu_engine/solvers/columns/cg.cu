#include "column_solve.cuh"

/// p := z, and the partial sums of ‖r‖² and γ = rᵀz, in the columns whose recurrence starts. m is the diagonal of M, or
/// Z itself where M is applied apart.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_begin(int n, int k, const double *__restrict__ r, const double *__restrict__ m, double *__restrict__ p,
                    double *__restrict__ partials, const Column *state) {
  follow();
  const ColumnLane lane(k);
  double sums[2] = {0.0, 0.0};
  EACH_ELEMENT(at, row, lane, n, state[lane.column].goes_on) {
    const double residual = r[at], z = column_image<M>(row, at, residual, m);
    p[at] = z, sums[0] += residual * residual, sums[1] += residual * z;
  }
  write_column_sums(partials, lane, {NORM, GAMMA}, sums);
}

/// A block per column: the norm and γ with which its recurrence starts.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_start(int blocks, const double *__restrict__ partials, Column *state, const Columns *columns) {
  follow();
  double totals[2];
  read_column_sums(partials, blocks, {NORM, GAMMA}, totals);
  Column &column = state[blockIdx.x];
  if (threadIdx.x != 0 || !column.goes_on) return;
  column.norm = sqrt(totals[0]), column.gamma = totals[1];
  column.goes_on = column_goes_on(column, columns, column.norm);
}

/// Partial sums of δ = pᵀq, Q = A·P; begins an iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_curvature(int n, int k, const double *__restrict__ p, const double *__restrict__ q,
                        double *__restrict__ partials, const Column *state) {
  follow();
  const ColumnLane lane(k);
  double sums[1] = {0.0};
  EACH_ELEMENT(at, row, lane, n, state[lane.column].goes_on) sums[0] += p[at] * q[at];
  write_column_sums(partials, lane, {FIRST}, sums);
}

/// A block per column: α = γ / δ, or how its recurrence broke down.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_alpha(int blocks, const double *__restrict__ partials, Column *state) {
  follow();
  double totals[1];
  read_column_sums(partials, blocks, {FIRST}, totals);
  Column &column = state[blockIdx.x];
  if (threadIdx.x != 0) return;
  if (column.goes_on && column.gamma <= 0.0)
    column.status = INDEFINITE_M, column.goes_on = 0;
  else if (column.goes_on && totals[0] <= 0.0)
    column.status = INDEFINITE, column.goes_on = 0;
  column.active = column.goes_on;
  column.alpha = column.gamma / totals[0];
}

/// r := r − α·q, and the partial sums of ‖r‖² and γ.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_residual(int n, int k, const double *__restrict__ q, double *__restrict__ r, const double *__restrict__ m,
                       double *__restrict__ partials, const Column *state) {
  follow();
  const ColumnLane lane(k);
  const double alpha = state[lane.column].alpha;
  double sums[2] = {0.0, 0.0};
  EACH_ELEMENT(at, row, lane, n, state[lane.column].active) {
    const double residual = r[at] - alpha * q[at];
    r[at] = residual, sums[0] += residual * residual;
    if constexpr (M != APART) sums[1] += residual * column_image<M>(row, at, residual, m);
  }
  write_column_sums(partials, lane, {NORM, GAMMA}, sums);
}

/// Partial sums of γ = rᵀz, where M was applied apart.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_projection(int n, int k, const double *__restrict__ r, const double *__restrict__ z,
                         double *__restrict__ partials, const Column *state) {
  follow();
  const ColumnLane lane(k);
  double sums[1] = {0.0};
  EACH_ELEMENT(at, row, lane, n, state[lane.column].active) sums[0] += r[at] * z[at];
  write_column_sums(partials, lane, {GAMMA}, sums);
}

/// A block per column: the norm of its residual, β = γ' / γ, and whether it goes on; counts the iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_beta(int blocks, const double *__restrict__ partials, Column *state, const Columns *columns) {
  follow();
  double totals[2];
  read_column_sums(partials, blocks, {NORM, GAMMA}, totals);
  Column &column = state[blockIdx.x];
  if (threadIdx.x != 0 || !column.active) return;
  column.norm = sqrt(totals[0]);
  column.beta = totals[1] / column.gamma, column.gamma = totals[1];
  ++column.iterations;
  column.goes_on = column_goes_on(column, columns, column.norm);
}

/// x := x + α·p, p := z + β·p; ends an iteration.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_cg_direction(int n, int k, const double *__restrict__ r, const double *__restrict__ m,
                        double *__restrict__ p, double *__restrict__ x, const Column *state) {
  follow();
  const ColumnLane lane(k);
  const double alpha = state[lane.column].alpha, beta = state[lane.column].beta;
  EACH_ELEMENT(at, row, lane, n, state[lane.column].active) {
    const double direction = p[at];
    x[at] += alpha * direction;
    p[at] = column_image<M>(row, at, r[at], m) + beta * direction;
  }
}
