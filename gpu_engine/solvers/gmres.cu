#include "solve.cuh"

extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

/// Numbers of a cycle, all on the device: the basis is V_i = basis[i]·scale[i], column j of the rotated Hessenberg
/// matrix lies at hessenberg[j·(restart + 1)], `right` is the rotated right-hand side.
struct Cycle {
  double *basis, *scale, *hessenberg, *rotations, *right, *projections, *weights;
  long long stride;
  int restart, n;
};

__device__ __forceinline__ Cycle cycle_of(double *basis, double *numbers, long long stride, int restart, int n) {
  const int size = restart + 2;
  return {basis,
          numbers,
          numbers + 6 * size,
          numbers + 3 * size,
          numbers + size,
          numbers + 2 * size,
          numbers + 5 * size,
          stride,
          restart,
          n};
}

#define CYCLE double *basis, double *numbers, long long stride, int restart, int n

/// V_0 := r.
__global__ void __launch_bounds__(SOLVE_BLOCK) gmres_begin(CYCLE, const double *__restrict__ r, Solve *solve) {
  follow();
  if (!takes_part(solve)) return;
  const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
  EACH_ROW(row, n) basis[row] = r[row];
  if (!is_writer()) return;
  cycle.scale[0] = 1.0 / solve->norm, cycle.right[0] = solve->norm;
  solve->scalars[0] = 0.0;
}

/// Whether the kernel takes part: the second pass only where the first has cancelled much.
template <bool SECOND> __device__ __forceinline__ bool takes_part_in(const Solve *solve) {
  return takes_part(solve) && (!SECOND || solve->scalars[1] != 0.0);
}

/// Partial sums of basis[i]ᵀw, i ≤ j, and of wᵀw; w = basis[j + 1]. TOGETHER vectors are multiplied in one pass.
template <bool SECOND, int TOGETHER>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_dots(CYCLE, int j, double *__restrict__ partials, const Solve *solve) {
  follow();
  if (!takes_part_in<SECOND>(solve)) return;
  const double *w = basis + (j + 1) * stride;
  for (int first = 0; first <= j + 1; first += TOGETHER) {
    double sums[TOGETHER] = {};
    EACH_ROW(row, n) {
      const double other = w[row];
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k)
        if (first + k <= j + 1) sums[k] += other * basis[(first + k) * stride + row];
    }
    sum_blocks(sums);
    if (threadIdx.x == 0)
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k)
        if (first + k <= j + 1) partials[(first + k) * SOLVE_BLOCKS_MAX + blockIdx.x] = sums[k];
  }
}

/// Block i: the projection of w on V_i, and in block j + 1 its square. SECOND: w was scaled by the first pass.
template <bool SECOND>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_totals(CYCLE, int j, int blocks, const double *__restrict__ partials, const Solve *solve) {
  follow();
  if (!takes_part_in<SECOND>(solve)) return;
  const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
  const int i = blockIdx.x;
  double totals[1] = {0.0};
  for (int block = threadIdx.x; block < blocks; block += SOLVE_BLOCK)
    totals[0] += partials[i * SOLVE_BLOCKS_MAX + block];
  sum_blocks(totals);
  if (threadIdx.x != 0) return;
  const double factor = SECOND ? 1.0 : cycle.scale[j];
  double *column = cycle.hessenberg + (long long)j * (restart + 1);
  if (i == j + 1) {
    if (!SECOND) cycle.projections[i] = factor * factor * totals[0];
    return;
  }
  const double projection = factor * cycle.scale[i] * totals[0];
  cycle.projections[i] = projection;
  column[i] = SECOND ? column[i] + projection : projection;
}

/// w := factor·w − Σ projections[i]·V_i, and ‖w‖². The second pass follows if less than a tenth of w is left: what is
/// left has then lost more than a digit of its orthogonality.
template <bool SECOND>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_project(CYCLE, int j, double *__restrict__ partials, Solve *solve) {
  constexpr double LEFT = 0.1;
  follow();
  if (!takes_part_in<SECOND>(solve)) return;
  const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
  const double factor = SECOND ? 1.0 : cycle.scale[j];
  double *w = basis + (j + 1) * stride;
  if (!SECOND && is_writer()) {
    double rest = cycle.projections[j + 1];
    for (int i = 0; i <= j; ++i)
      rest -= cycle.projections[i] * cycle.projections[i];
    solve->scalars[1] = rest < LEFT * LEFT * cycle.projections[j + 1];
  }
  double sums[1] = {0.0};
  EACH_ROW_BACK(row, n) {
    double rest = factor * w[row];
#pragma unroll 8
    for (int i = 0; i <= j; ++i)
      rest -= cycle.projections[i] * cycle.scale[i] * basis[i * stride + row];
    w[row] = rest, sums[0] += rest * rest;
  }
  write_sums(partials, {NORM}, sums);
}

/// One block: the rotation of column j and the norm of the residual; ends an iteration. The conditions from
/// `condition` on are those of the chunks of iterations after this one.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_rotate(CYCLE, int j, int blocks, const double *__restrict__ partials, Solve *solve,
                 double *__restrict__ norms, const unsigned long long *__restrict__ handles, int condition,
                 int conditions) {
  follow();
  constexpr double EPSILON = 0x1p-52;
  double totals[1];
  read_sums(partials, blocks, {NORM}, totals);
  if (threadIdx.x != 0) return;
  if (takes_part(solve)) {
    const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
    double *column = cycle.hessenberg + (long long)j * (restart + 1), *right = cycle.right;
    double length = totals[0] > 0.0 ? totals[0] * rsqrt(totals[0]) : 0.0;
    // What is left of w is rounding: the Krylov space is complete.
    if (totals[0] <= EPSILON * EPSILON * cycle.projections[j + 1]) length = 0.0;
    double upper = column[0];
    for (int i = 0; i < j; ++i) {
      const double c = cycle.rotations[2 * i], s = cycle.rotations[2 * i + 1], lower = column[i + 1];
      column[i] = c * upper + s * lower, upper = c * lower - s * upper;
    }
    // As hypot and divisions, which would need a stack.
    const double largest = fmax(fabs(upper), length), scale = largest > 0.0 ? 1.0 / largest : 0.0;
    const double first = upper * scale, second = length * scale, square = first * first + second * second;
    const double inverse = largest > 0.0 ? rsqrt(square) : 0.0, diagonal = largest * square * inverse;
    const double c = largest > 0.0 ? first * inverse : 1.0, s = second * inverse;
    column[j] = diagonal, cycle.rotations[2 * j] = c, cycle.rotations[2 * j + 1] = s;
    if (diagonal == 0.0) {
      solve->active = 0;
      if (j == 0) solve->status = BREAKDOWN;
    } else {
      right[j + 1] = -s * right[j], right[j] *= c;
      cycle.scale[j + 1] = length > 0.0 ? rsqrt(totals[0]) : 0.0;
      solve->scalars[0] = j + 1;
      ++solve->iterations;
      const double norm = fabs(right[j + 1]);
      if (solve->checks < solve->checks_max) norms[solve->checks] = norm;
      ++solve->checks;
      solve->active = norm > solve->bound && solve->iterations < solve->iterations_max && length > 0.0;
    }
  }
  // An earlier cycle may have left the later ones true.
  const bool continues = takes_part(solve);
  for (int following = condition; following < (continues ? min(condition + 1, conditions) : conditions); ++following)
    cudaGraphSetConditional(handles[following], continues);
}

/// One block: weights[i] of V_i in the correction, by back substitution.
__global__ void __launch_bounds__(SOLVE_BLOCK) gmres_weights(CYCLE, const Solve *solve) {
  follow();
  if (threadIdx.x != 0) return;
  const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
  const int columns = solve->status == RUNNING ? (int)solve->scalars[0] : 0;
  for (int i = columns - 1; i >= 0; --i) {
    double rest = cycle.right[i];
    for (int k = i + 1; k < columns; ++k)
      rest -= cycle.hessenberg[(long long)k * (restart + 1) + i] * cycle.weights[k];
    cycle.weights[i] = rest / cycle.hessenberg[(long long)i * (restart + 1) + i];
  }
}

/// x := x + M·Σ weights[i]·V_i; where M is applied apart, target is its operand, else x.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_correct(CYCLE, const double *__restrict__ m, double *__restrict__ target, const Solve *solve) {
  follow();
  if (solve->status != RUNNING) return;
  const Cycle cycle = cycle_of(basis, numbers, stride, restart, n);
  const int columns = (int)solve->scalars[0];
  EACH_ROW(row, n) {
    double correction = 0.0;
#pragma unroll 4
    for (int i = 0; i < columns; ++i)
      correction += cycle.weights[i] * cycle.scale[i] * basis[i * stride + row];
    if constexpr (M == APART)
      target[row] = correction;
    else
      target[row] += precondition<M>(row, correction, m);
  }
}

/// x := x + z.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    gmres_add(int n, const double *__restrict__ z, double *__restrict__ x, const Solve *solve) {
  follow();
  if (solve->status != RUNNING) return;
  EACH_ROW(row, n) x[row] += z[row];
}
