#include "residual.cuh"
#include "solve.cuh"

/// One system and its vectors, which lie in shared memory where they fit. n_vectors of them follow x and the inverse
/// diagonal d, which is 1 without a preconditioner.
template <typename Pointer, int LANES> struct Problem {
  int n;
  const Pointer *indptr;
  const int *indices;
  const double *values, *b;
  double *x, *d, *vectors;

  __device__ __forceinline__ double *vector(int k) const { return vectors + (long long)k * n; }

  /// out := A·gather.
  template <typename Gather> __device__ __forceinline__ void multiply(const Gather &gather, double *out) const {
    const int lane = threadIdx.x % LANES, groups = SOLVE_BLOCK / LANES, last = (n + groups - 1) / groups * groups;
    __syncthreads();
    for (int row = threadIdx.x / LANES; row < last; row += groups) {
      double total = 0.0;
      if (row < n)
        for (Pointer entry = indptr[row] + lane; entry < indptr[row + 1]; entry += LANES)
          total += values[entry] * gather(indices[entry]);
      total = sum_lanes<LANES>(total);
      if (row < n && lane == 0) out[row] = total;
    }
    __syncthreads();
  }

  /// r := b − A·x in twice the precision; returns ‖r‖².
  __device__ __forceinline__ double residual(double *r) const {
    const int lane = threadIdx.x % LANES, groups = SOLVE_BLOCK / LANES, last = (n + groups - 1) / groups * groups;
    double sums[1] = {0.0};
    __syncthreads();
    for (int row = threadIdx.x / LANES; row < last; row += groups) {
      const double other = exact_residual<LANES>(row, n, indptr, indices, values, x, b);
      if (row < n && lane == 0) r[row] = other, sums[0] += other * other;
    }
    sum_blocks(sums);
    return sums[0];
  }
};

#define ROWS_OF(row, n) for (int row = threadIdx.x; row < (n); row += SOLVE_BLOCK)

/// Improves x, whose residual is vector 0, by CG. BLOCKS: fewest blocks of a multiprocessor for which registers are
/// saved, 0: as the compiler decides.
struct Cg {
  static constexpr int VECTORS = 3, BLOCKS = 0;

  template <typename P>
  __device__ static Outcome run(const P &system, double square, double bound, int most, int &iterations) {
    double *r = system.vector(0), *p = system.vector(1), *q = system.vector(2);
    double sums[2] = {square, 0.0}, dot[1] = {0.0};
    ROWS_OF(row, system.n) p[row] = system.d[row] * r[row], dot[0] += r[row] * p[row];
    sum_blocks(dot);
    double gamma = dot[0];
    while (sqrt(sums[0]) > bound && iterations < most) {
      if (gamma <= 0.0) return INDEFINITE_M;
      system.multiply([p](int column) { return p[column]; }, q);
      dot[0] = 0.0;
      ROWS_OF(row, system.n) dot[0] += p[row] * q[row];
      sum_blocks(dot);
      if (dot[0] <= 0.0) return INDEFINITE;
      const double alpha = gamma / dot[0];
      sums[0] = sums[1] = 0.0;
      ROWS_OF(row, system.n) {
        const double other = r[row] - alpha * q[row];
        system.x[row] += alpha * p[row];
        r[row] = other, sums[0] += other * other, sums[1] += system.d[row] * other * other;
      }
      sum_blocks(sums);
      const double beta = sums[1] / gamma;
      gamma = sums[1];
      ROWS_OF(row, system.n) p[row] = system.d[row] * r[row] + beta * p[row];
      ++iterations;
    }
    return RUNNING;
  }
};

/// Improves x, whose residual is vector 0, by BiCGSTAB.
struct Bicgstab {
  static constexpr int VECTORS = 5, BLOCKS = 0;

  template <typename P>
  __device__ static Outcome run(const P &system, double square, double bound, int most, int &iterations) {
    constexpr double TINY = 0x1p-104; // ε² of fp64
    double *r = system.vector(0), *shadow = system.vector(1), *p = system.vector(2), *v = system.vector(3);
    double *t = system.vector(4);
    const double *d = system.d, first = sqrt(square);
    double sums[2] = {square, square}, dots[2], rho = square;
    ROWS_OF(row, system.n) shadow[row] = r[row], p[row] = r[row];
    while (sqrt(sums[0]) > bound && iterations < most) {
      if (fabs(rho) <= TINY * first * sqrt(sums[0])) return BREAKDOWN;
      system.multiply([p, d](int column) { return d[column] * p[column]; }, v);
      dots[0] = dots[1] = 0.0;
      ROWS_OF(row, system.n) dots[0] += shadow[row] * v[row];
      sum_blocks(dots);
      if (dots[0] == 0.0) return BREAKDOWN;
      const double alpha = rho / dots[0];
      ROWS_OF(row, system.n) r[row] -= alpha * v[row];
      system.multiply([r, d](int column) { return d[column] * r[column]; }, t);
      dots[0] = dots[1] = 0.0;
      ROWS_OF(row, system.n) dots[0] += t[row] * r[row], dots[1] += t[row] * t[row];
      sum_blocks(dots);
      const double omega = dots[1] > 0.0 ? dots[0] / dots[1] : 0.0;
      sums[0] = sums[1] = 0.0;
      ROWS_OF(row, system.n) {
        system.x[row] += d[row] * (alpha * p[row] + omega * r[row]);
        const double other = r[row] - omega * t[row];
        r[row] = other, sums[0] += other * other, sums[1] += shadow[row] * other;
      }
      sum_blocks(sums);
      ++iterations;
      if (omega == 0.0) return sqrt(sums[0]) > bound ? BREAKDOWN : RUNNING;
      const double beta = sums[1] / rho * (alpha / omega);
      rho = sums[1];
      ROWS_OF(row, system.n) p[row] = r[row] + beta * (p[row] - omega * v[row]);
    }
    return RUNNING;
  }
};

/// Improves x, whose residual is vector 0, by GMRES(RESTART), a cycle after the other. Modified Gram–Schmidt, a second
/// time where much was canceled.
struct Gmres {
  static constexpr int RESTART = 30, VECTORS = RESTART + 1, BLOCKS = 2;

  /// What a cycle knows of its basis: the Hessenberg matrix by columns, made triangular by Givens rotations.
  struct Cycle {
    double columns[RESTART][RESTART], column[RESTART + 1], cosines[RESTART], sines[RESTART], right[RESTART + 1];
    double inverses[RESTART]; // of the diagonal, 0 for 0
  };

  template <typename P>
  __device__ static Outcome run(const P &system, double square, double bound, int most, int &iterations) {
    __shared__ Cycle cycle;
    while (root_of(square) > bound && iterations < most) {
      const int columns = extend(system, cycle, square, bound, most, iterations);
      if (columns == 0) return BREAKDOWN;
      correct(system, cycle, columns);
      const double before = square;
      square = system.residual(system.vector(0));
      if (root_of(square) > bound && !(square < before * (1.0 - 0x1p-51))) return STAGNATED;
    }
    return RUNNING;
  }

  __device__ __forceinline__ static double root_of(double square) {
    return square > 0.0 ? square * rsqrt(square) : 0.0;
  }

  /// Builds the basis, and returns the number of its vectors that a correction may use.
  template <typename P>
  __device__ static int extend(const P &system, Cycle &cycle, double square, double bound, int most, int &iterations) {
    // Neither division nor square root of fp64 without a subroutine, for which registers would be spilled.
    double inverse = rsqrt(square);
    ROWS_OF(row, system.n) system.vector(0)[row] *= inverse;
    if (threadIdx.x == 0) cycle.right[0] = square * inverse;
    int j = 0;
    while (j < RESTART && iterations < most) {
      const double *v = system.vector(j), *d = system.d;
      double *w = system.vector(j + 1);
      system.multiply([v, d](int column) { return d[column] * v[column]; }, w);
      const double rest = orthogonalize(system, cycle, j, w);
      inverse = rest > 0.0 ? rsqrt(rest) : 0.0;
      if (threadIdx.x == 0) rotate(cycle, j, rest * inverse);
      __syncthreads();
      if (cycle.inverses[j] == 0.0) break;
      ++j, ++iterations;
      if (fabs(cycle.right[j]) <= bound || rest == 0.0) break;
      ROWS_OF(row, system.n) w[row] *= inverse;
    }
    return j;
  }

  /// Subtracts from w its projections on the first j + 1 vectors; returns ‖rest‖², 0 if it is rounding.
  template <typename P> __device__ static double orthogonalize(const P &system, Cycle &cycle, int j, double *w) {
    constexpr double LEFT = 0.1, EPSILON = 0x1p-52;
    const double size = square_of(system, w);
    double rest = size;
    for (int pass = 0; pass < 2; ++pass) {
      for (int i = 0; i <= j; ++i) {
        const double *v = system.vector(i);
        double dot[1] = {0.0};
        ROWS_OF(row, system.n) dot[0] += v[row] * w[row];
        sum_blocks(dot);
        ROWS_OF(row, system.n) w[row] -= dot[0] * v[row];
        if (threadIdx.x == 0) cycle.column[i] = (pass ? cycle.column[i] : 0.0) + dot[0];
      }
      rest = square_of(system, w);
      if (rest >= LEFT * LEFT * size) break;
    }
    return rest > EPSILON * EPSILON * size ? rest : 0.0;
  }

  template <typename P> __device__ static double square_of(const P &system, const double *w) {
    double square[1] = {0.0};
    ROWS_OF(row, system.n) square[0] += w[row] * w[row];
    sum_blocks(square);
    return square[0];
  }

  /// One thread: rotates the new column and the right-hand side, whose last entry is the norm of the residual.
  __device__ static void rotate(Cycle &cycle, int j, double rest) {
    cycle.column[j + 1] = rest;
    for (int i = 0; i < j; ++i) {
      const double c = cycle.cosines[i], s = cycle.sines[i], upper = cycle.column[i], lower = cycle.column[i + 1];
      cycle.columns[j][i] = c * upper + s * lower;
      cycle.column[i + 1] = c * lower - s * upper;
    }
    const double upper = cycle.column[j], square = upper * upper + rest * rest;
    const double inverse = square > 0.0 ? rsqrt(square) : 0.0;
    const double c = square > 0.0 ? upper * inverse : 1.0, s = rest * inverse;
    cycle.cosines[j] = c, cycle.sines[j] = s, cycle.inverses[j] = inverse;
    cycle.right[j + 1] = -s * cycle.right[j];
    cycle.right[j] *= c;
  }

  /// x := x + d·V·y, where y solves the triangular system of the cycle.
  template <typename P> __device__ static void correct(const P &system, Cycle &cycle, int columns) {
    if (threadIdx.x == 0)
      for (int i = columns - 1; i >= 0; --i) {
        double total = cycle.right[i];
        for (int k = i + 1; k < columns; ++k)
          total -= cycle.columns[k][i] * cycle.column[k];
        cycle.column[i] = total * cycle.inverses[i];
      }
    __syncthreads();
    ROWS_OF(row, system.n) {
      double total = 0.0;
      for (int i = 0; i < columns; ++i)
        total += cycle.column[i] * system.vector(i)[row];
      system.x[row] += system.d[row] * total;
    }
  }
};

/// One block solves one system of a batch, one after the other: system k has the rows from begins[k] on; columns count
/// from 0 in each. It has converged if ‖b − A·x‖ ≤ max(rtol·‖b‖, atol). x holds the start vectors and becomes the best
/// iterates. `inverse` is the inverse diagonal or null; `room` holds the vectors of systems that do not fit in shared
/// memory, SHARED or not.
template <typename Method, typename Pointer, int LANES, bool SHARED>
__global__ void __launch_bounds__(SOLVE_BLOCK, Method::BLOCKS)
    solve_batch(const long long *__restrict__ begins, const Pointer *__restrict__ indptr,
                const int *__restrict__ indices, const double *__restrict__ values, double rtol, double atol,
                int iterations_max, const double *__restrict__ b, const double *__restrict__ inverse,
                double *__restrict__ x, double *__restrict__ room, int *__restrict__ iterations,
                int *__restrict__ status, double *__restrict__ residuals) {
  extern __shared__ double shared[];
  const long long begin = begins[blockIdx.x];
  const int n = (int)(begins[blockIdx.x + 1] - begin);
  double *vectors = SHARED ? shared : room + begin * (Method::VECTORS + 2);
  const Problem<Pointer, LANES> system{n,         indptr + begin, indices,     values,
                                       b + begin, vectors,        vectors + n, vectors + 2LL * n};
  double squares[1] = {0.0};
  ROWS_OF(row, n) {
    system.x[row] = x[begin + row], system.d[row] = inverse ? inverse[begin + row] : 1.0;
    squares[0] += system.b[row] * system.b[row];
  }
  sum_blocks(squares);
  const double bound = fmax(rtol * sqrt(squares[0]), atol);
  double before = 1.0 / 0.0;
  int made = 0, starts = 0;
  Outcome outcome = RUNNING;
  while (true) {
    const double square = system.residual(system.vector(0)), norm = sqrt(square);
    outcome = ending<false>(norm, before, bound, starts, made >= iterations_max, outcome);
    if (starts == 0 || norm <= before) {
      ROWS_OF(row, n) x[begin + row] = system.x[row];
      before = norm;
    }
    if (outcome != RUNNING) break;
    outcome = Method::run(system, square, bound, iterations_max, made);
    ++starts;
  }
  if (threadIdx.x != 0) return;
  iterations[blockIdx.x] = made, status[blockIdx.x] = outcome, residuals[blockIdx.x] = before;
}
