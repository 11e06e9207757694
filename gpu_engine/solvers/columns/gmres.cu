#include "column_solve.cuh"

/// Numbers of the cycles of all columns: an item of each column beside those of the others. The basis of a column is
/// V_i = basis[i]·scale[i]; `right` is its rotated right-hand side.
struct Cycles {
  double *scale, *right, *projections, *factors, *weights, *rotations, *hessenberg;
  int k, restart;

  /// Numbers of a column: at(scale, i, c).
  __device__ __forceinline__ double &at(double *numbers, int item, int column) const {
    return numbers[(long long)item * k + column];
  }
  /// Row i of column j of the Hessenberg matrix of a column.
  __device__ __forceinline__ double &entry(int i, int j, int column) const {
    return hessenberg[((long long)j * (restart + 1) + i) * k + column];
  }
};

__device__ __forceinline__ Cycles cycles_of(double *numbers, int k, int restart) {
  const long long size = (long long)(restart + 2) * k;
  return {numbers,
          numbers + size,
          numbers + 2 * size,
          numbers + 3 * size,
          numbers + 4 * size,
          numbers + 5 * size,
          numbers + 7 * size,
          k,
          restart};
}

/// A block per column: begins the cycle of a column that has not ended.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_start(int k, int restart, double *numbers, Column *state, const Columns *columns) {
  follow();
  Column &column = state[blockIdx.x];
  if (threadIdx.x != 0) return;
  column.active = column.goes_on = column.goes_on && column_goes_on(column, columns, column.norm);
  if (!column.active) return;
  const Cycles cycles = cycles_of(numbers, k, restart);
  cycles.at(cycles.scale, 0, blockIdx.x) = 1.0 / column.norm, cycles.at(cycles.right, 0, blockIdx.x) = column.norm;
  column.step = 0;
}

/// V_0 := R, in the columns whose cycle begins.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_begin(int n, int k, const double *__restrict__ r, double *__restrict__ basis, const Column *state,
                       Columns *columns) {
  follow();
  if (is_writer()) columns->step = 0;
  const ColumnLane lane(k);
  EACH_ELEMENT(at, row, lane, n, state[lane.column].goes_on) basis[at] = r[at];
}

/// P := V_step, times the diagonal of M, in the columns that go on; `advance` steps have ended.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_direction(int n, int k, int restart, const double *__restrict__ basis, double *numbers,
                           const double *__restrict__ m, double *__restrict__ p, const Column *state, Columns *columns,
                           int advance) {
  follow();
  if (is_writer() && columns->step < restart) columns->step += advance;
  const ColumnLane lane(k);
  const Column &column = state[lane.column];
  const bool goes_on = column.goes_on;
  const Cycles cycles = cycles_of(numbers, k, restart);
  const double scale = goes_on ? cycles.at(cycles.scale, column.step, lane.column) : 0.0;
  const double *v = basis + (goes_on ? column.step : 0) * (long long)n * k;
  EACH_ELEMENT(at, row, lane, n, goes_on) {
    const double direction = scale * v[at];
    if constexpr (M == DIAGONAL)
      p[at] = __ldg(m + row) * direction;
    else
      p[at] = direction;
  }
}

/// The sum that is the square of what a pass of Gram–Schmidt leaves; dot products have those before.
__device__ __forceinline__ int square_of(int restart, bool second) {
  return restart + 2 + second;
}

/// Whether a column takes part in a pass of Gram–Schmidt: in the second only if the first has canceled much.
template <bool SECOND> __device__ __forceinline__ bool takes_part_in(const Column &column) {
  return column.goes_on && (!SECOND || column.again);
}

/// Partial sums of basis[i]ᵀw, i ≤ step, and of wᵀw as that of step + 1. W is A·P, in the second pass V_{step + 1}.
template <bool SECOND>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_dots(int n, int k, const double *__restrict__ basis, const double *__restrict__ product,
                      double *__restrict__ partials, const Column *state, const Columns *columns) {
  constexpr int TOGETHER = 8;
  follow();
  const int step = columns->step;
  const ColumnLane lane(k);
  const long long size = (long long)n * k;
  const bool takes_part = takes_part_in<SECOND>(state[lane.column]);
  if (!__syncthreads_or(takes_part)) return;
  const double *w = SECOND ? basis + (step + 1) * size : product;
  for (int first = 0; first <= step + 1; first += TOGETHER) {
    double sums[TOGETHER] = {};
    EACH_ELEMENT(at, row, lane, n, takes_part) {
      const double other = w[at];
#pragma unroll
      for (int i = 0; i < TOGETHER; ++i) {
        if (first + i <= step) sums[i] += other * basis[(first + i) * size + at];
        if (first + i == step + 1) sums[i] += other * other;
      }
    }
    write_column_sums(partials, lane, first, step + 2, sums);
  }
}

/// Block i·k + c: the projection of w on V_i of column c, and for i = step + 1 its square.
template <bool SECOND>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_totals(int k, int restart, double *numbers, int blocks, const double *__restrict__ partials,
                        const Column *state, const Columns *columns) {
  follow();
  const int i = blockIdx.x / k, c = blockIdx.x % k, step = columns->step;
  if (i > step + 1 || !takes_part_in<SECOND>(state[c])) return;
  double totals[1] = {0.0};
  for (int block = threadIdx.x; block < blocks; block += SOLVE_BLOCK)
    totals[0] += partials[(long long)blockIdx.x * SOLVE_BLOCKS_MAX + block];
  sum_blocks(totals);
  if (threadIdx.x != 0) return;
  const Cycles cycles = cycles_of(numbers, k, restart);
  if (i == step + 1) {
    if (!SECOND) cycles.at(cycles.projections, i, c) = totals[0];
    return;
  }
  const double scale = cycles.at(cycles.scale, i, c), projection = scale * totals[0];
  cycles.at(cycles.projections, i, c) = projection;
  cycles.at(cycles.factors, i, c) = scale * projection;
  double &entry = cycles.entry(i, step, c);
  entry = SECOND ? entry + projection : projection;
}

/// V_{step + 1} := w − Σ projections[i]·V_i, and the partial sums of its square. The second pass follows if less than a
/// tenth of w is left: what is left has then lost more than a digit of its orthogonality.
template <bool SECOND>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_project(int n, int k, int restart, double *basis, const double *product, double *numbers,
                         double *__restrict__ partials, Column *state, const Columns *columns) {
  constexpr double LEFT = 0.1;
  follow();
  const int step = columns->step;
  const ColumnLane lane(k);
  const long long size = (long long)n * k;
  const Cycles cycles = cycles_of(numbers, k, restart);
  const bool takes_part = takes_part_in<SECOND>(state[lane.column]);
  if (!__syncthreads_or(takes_part)) return;
  if (!SECOND && blockIdx.x == 0 && lane.row == 0 && takes_part) {
    const double square = cycles.at(cycles.projections, step + 1, lane.column);
    double rest = square;
    for (int i = 0; i <= step; ++i) {
      const double projection = cycles.at(cycles.projections, i, lane.column);
      rest -= projection * projection;
    }
    state[lane.column].again = rest < LEFT * LEFT * square;
  }
  double *v = basis + (step + 1) * size;
  const double *w = SECOND ? v : product;
  double sums[1] = {0.0};
  EACH_ELEMENT(at, row, lane, n, takes_part) {
    double rest = w[at];
#pragma unroll 4
    for (int i = 0; i <= step; ++i)
      rest -= cycles.at(cycles.factors, i, lane.column) * basis[i * size + at];
    v[at] = rest, sums[0] += rest * rest;
  }
  write_column_sums(partials, lane, {square_of(restart, SECOND)}, sums);
}

/// A block per column: the rotation of a column of its Hessenberg matrix and the norm of its residual; ends an
/// iteration.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_rotate(int blocks, const double *__restrict__ partials, int restart, double *numbers, Column *state,
                        const Columns *columns) {
  follow();
  constexpr double EPSILON = 0x1p-52;
  const int c = blockIdx.x, step = columns->step;
  Column &column = state[c];
  if (!column.goes_on) return;
  double totals[2];
  read_column_sums(partials, blocks, {square_of(restart, false), square_of(restart, true)}, totals);
  if (threadIdx.x != 0) return;
  const Cycles cycles = cycles_of(numbers, gridDim.x, restart);
  const double square = column.again ? totals[1] : totals[0];
  double length = square > 0.0 ? square * rsqrt(square) : 0.0;
  // What is left of w is rounding: the Krylov space is complete.
  if (square <= EPSILON * EPSILON * cycles.at(cycles.projections, step + 1, c)) length = 0.0;
  double upper = cycles.entry(0, step, c);
  for (int i = 0; i < step; ++i) {
    const double cosine = cycles.at(cycles.rotations, 2 * i, c), sine = cycles.at(cycles.rotations, 2 * i + 1, c);
    const double lower = cycles.entry(i + 1, step, c);
    cycles.entry(i, step, c) = cosine * upper + sine * lower, upper = cosine * lower - sine * upper;
  }
  // As hypot and divisions, which would need a stack.
  const double largest = fmax(fabs(upper), length), scale = largest > 0.0 ? 1.0 / largest : 0.0;
  const double first = upper * scale, second = length * scale, sum = first * first + second * second;
  const double inverse = largest > 0.0 ? rsqrt(sum) : 0.0, diagonal = largest * sum * inverse;
  const double cosine = largest > 0.0 ? first * inverse : 1.0, sine = second * inverse;
  cycles.entry(step, step, c) = diagonal;
  cycles.at(cycles.rotations, 2 * step, c) = cosine, cycles.at(cycles.rotations, 2 * step + 1, c) = sine;
  if (diagonal == 0.0) {
    column.goes_on = 0;
    if (step == 0) column.status = BREAKDOWN;
    return;
  }
  double &right = cycles.at(cycles.right, step, c);
  cycles.at(cycles.right, step + 1, c) = -sine * right, column.norm = fabs(sine * right), right *= cosine;
  cycles.at(cycles.scale, step + 1, c) = length > 0.0 ? rsqrt(square) : 0.0;
  column.step = step + 1;
  ++column.iterations;
  column.goes_on = length > 0.0 && step + 1 < restart && column_goes_on(column, columns, column.norm);
}

/// A block per column: weights[i] of basis[i] in the correction of x, by back substitution.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_weights(int k, int restart, double *numbers, const Column *state) {
  follow();
  const int c = blockIdx.x;
  const Column &column = state[c];
  if (threadIdx.x != 0 || !column.active) return;
  const Cycles cycles = cycles_of(numbers, k, restart);
  for (int i = column.step - 1; i >= 0; --i) {
    double rest = cycles.at(cycles.right, i, c);
    for (int j = i + 1; j < column.step; ++j)
      rest -= cycles.entry(i, j, c) * cycles.at(cycles.weights, j, c);
    cycles.at(cycles.weights, i, c) = rest / cycles.entry(i, i, c);
  }
}

/// X := X + M·Σ weights[i]·V_i in the columns of this cycle; if M is applied apart, target is its operand, else X.
template <int M>
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_correct(int n, int k, int restart, const double *__restrict__ basis, double *numbers,
                         const double *__restrict__ m, double *__restrict__ target, const Column *state) {
  follow();
  const ColumnLane lane(k);
  const long long size = (long long)n * k;
  const Cycles cycles = cycles_of(numbers, k, restart);
  const int count = state[lane.column].step;
  EACH_ELEMENT(at, row, lane, n, state[lane.column].active) {
    double correction = 0.0;
#pragma unroll 4
    for (int i = 0; i < count; ++i)
      correction +=
          cycles.at(cycles.weights, i, lane.column) * cycles.at(cycles.scale, i, lane.column) * basis[i * size + at];
    if constexpr (M == APART)
      target[at] = correction;
    else
      target[at] += column_image<M>(row, at, correction, m);
  }
}

/// X := X + Z in the columns of this cycle.
__global__ void __launch_bounds__(SOLVE_BLOCK)
    column_gmres_add(int n, int k, const double *__restrict__ z, double *__restrict__ x, const Column *state) {
  follow();
  const ColumnLane lane(k);
  EACH_ELEMENT(at, row, lane, n, state[lane.column].active) x[at] += z[at];
}
