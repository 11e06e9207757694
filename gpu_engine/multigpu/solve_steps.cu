#include "solve.cuh"

/// What the iterations of all devices know before one of them: γ and α of the iteration before, and whether CG has
/// broken down. Kernels that read one of two such states write the other.
struct Before {
  double gamma, alpha, broken;
};

/// p := r + β·p, s := w + β·s, x := x + α·p, r := r − α·s on the rows of a device; its blocks add up r·r.
/// `sums` has γ = r·r and δ = r·w of each device, so that all devices compute the same α and β.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    advance_cg(int n, int devices, const double *__restrict__ sums, const Before *__restrict__ before,
               Before *__restrict__ after, double *__restrict__ p, double *__restrict__ s, const double *__restrict__ w,
               double *__restrict__ x, double *__restrict__ r, double *__restrict__ partials) {
  double gamma = 0.0, delta = 0.0;
  for (int device = 0; device < devices; ++device) {
    gamma += sums[2 * device];
    delta += sums[2 * device + 1];
  }
  const bool first = !(before->gamma > 0.0);
  const double beta = first ? 0.0 : gamma / before->gamma;
  const double curvature = first ? delta : delta - beta * gamma / before->alpha;
  // NaN is not positive either. Without a residual there is nothing left to do.
  const bool broken = before->broken != 0.0 || (gamma != 0.0 && !(curvature > 0.0));
  const double alpha = gamma / curvature;
  const bool runs = !broken && gamma != 0.0;
  double square[1] = {0.0};
  EACH_ROW(row, n) {
    double rest = r[row];
    if (runs) {
      const double direction = rest + beta * p[row], image = w[row] + beta * s[row];
      p[row] = direction;
      s[row] = image;
      x[row] += alpha * direction;
      rest -= alpha * image;
      r[row] = rest;
    }
    square[0] += rest * rest;
  }
  write_sums(partials, {NORM}, square);
  if (is_writer()) *after = runs ? Before{gamma, alpha, 0.0} : Before{before->gamma, before->alpha, broken ? 1.0 : 0.0};
}

/// The blocks of a device add up r·r if `squares`, which otherwise advance_cg has added up, and r·w.
template <bool SQUARES>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    project_residual(int n, const double *__restrict__ w, const double *__restrict__ r, double *__restrict__ partials) {
  double found[2] = {0.0, 0.0};
  EACH_ROW_BACK(row, n) {
    found[0] += r[row] * w[row];
    if (SQUARES) found[1] += r[row] * r[row];
  }
  if (SQUARES)
    write_sums(partials, {FIRST, NORM}, found);
  else {
    double projection[1] = {found[0]};
    write_sums(partials, {FIRST}, projection);
  }
}

/// r·r and r·w of a device, from `blocks` blocks, written to all targets, which may lie on peers; one block.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    join_projections(int blocks, const double *__restrict__ partials, int count, double *const *__restrict__ targets) {
  __shared__ double shared[2];
  double totals[2];
  read_sums(partials, blocks, {NORM, FIRST}, totals);
  if (threadIdx.x == 0) shared[0] = totals[0], shared[1] = totals[1];
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * count; i += SOLVE_BLOCK)
    targets[i / 2][i % 2] = shared[i % 2];
}
