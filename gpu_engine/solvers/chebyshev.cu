#include "solve.cuh"

/// Scalars of the Chebyshev iteration in Solve; iteration k reads those at k mod 2 and writes the others, and ‖r‖² is
/// the sum number k mod 2, so that one kernel is an iteration.
enum Scalar { RHO, COUNT = 2 };

/// d := z / center, ρ := 1 / σ.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    chebyshev_begin(int n, double center, double sigma, const double *__restrict__ r, const double *__restrict__ m,
                    double *__restrict__ d, double *__restrict__ partials, Solve *solve) {
  follow();
  double sums[1] = {0.0};
  EACH_ROW(row, n) {
    const double residual = r[row];
    d[row] = precondition<M>(row, residual, m) / center, sums[0] += residual * residual;
  }
  write_sums(partials, {NORM}, sums);
  if (is_writer()) solve->scalars[RHO] = 1.0 / sigma, solve->scalars[COUNT] = (double)solve->iterations;
}

/// Factors of d and z in the next d.
struct Factors {
  double of_direction, of_residual;
};

__device__ __forceinline__ Factors factors(double rho, double center, double half, double sigma) {
  const double after = 1.0 / (2.0 * sigma - rho);
  return {after * rho, half > 0.0 ? 2.0 * after / half : 1.0 / center};
}

/// x := x + d, r := r − q with q = A·d, and the next d unless M is applied apart.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    chebyshev_step(int n, int parity, double center, double half, double sigma, const double *__restrict__ q,
                   const double *__restrict__ m, double *__restrict__ d, double *__restrict__ r, double *__restrict__ x,
                   double *__restrict__ partials, Solve *solve) {
  follow();
  double totals[1];
  read_sums(partials, gridDim.x, {parity}, totals);
  const double rho = solve->scalars[RHO + parity], count = solve->scalars[COUNT + parity];
  const bool active =
      solve->status == RUNNING && sqrt(totals[0]) > solve->bound && count < (double)solve->iterations_max;
  if (is_writer()) {
    solve->active = active;
    solve->scalars[RHO + 1 - parity] = active ? 1.0 / (2.0 * sigma - rho) : rho;
    solve->scalars[COUNT + 1 - parity] = active ? count + 1.0 : count;
    if (parity == 1) solve->iterations = (long long)(active ? count + 1.0 : count);
  }
  if (!active) {
    if (threadIdx.x == 0)
      partials[(1 - parity) * SOLVE_BLOCKS_MAX + blockIdx.x] = partials[parity * SOLVE_BLOCKS_MAX + blockIdx.x];
    return;
  }
  const Factors next = factors(rho, center, half, sigma);
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) {
    const double direction = d[row], residual = r[row] - q[row];
    x[row] += direction, r[row] = residual, sums[0] += residual * residual;
    if constexpr (M != APART)
      d[row] = next.of_direction * direction + next.of_residual * precondition<M>(row, residual, m);
  }
  write_sums(partials, {1 - parity}, sums);
}

/// The next d, where M was applied apart.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    chebyshev_direction(int n, int parity, double center, double half, double sigma, const double *__restrict__ z,
                        double *__restrict__ d, const Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  const Factors next = factors(solve->scalars[RHO + parity], center, half, sigma);
  EACH_ROW(row, n) d[row] = next.of_direction * d[row] + next.of_residual * z[row];
}
