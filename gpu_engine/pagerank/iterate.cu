#include "ranks.cuh"

/// What a thread that owns a page does once it has the sum of its links: writes the new rank and tells the change.
/// All lanes of a warp come here; `row` is n or more where there is no page.
template <typename Read, typename Write>
__device__ __forceinline__ void finish_page(int n, long long row, double total, const unsigned char *dangling,
                                            const typename Read::Unit *p, typename Write::Unit *next, double damping,
                                            int norm, const State *state, unsigned long long *changes,
                                            unsigned long long *lost) {
  double change = 0.0, hanging = 0.0;
  if (row < n) {
    const double kept = Write::store(next, row, damping * total + state->base);
    change = kept - Read::load(p, row);
    if (dangling[row]) hanging = kept;
  }
  add_change(norm, change, changes, row / WARP);
  add_rank(hanging, lost, row / WARP);
}

/// next := damping·Aᵀ·p + base, one thread a page; the rows of Aᵀ in CSR.
template <typename Pointer, typename Values, typename Read, typename Write>
__global__ void csr_thread(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                           const typename Values::Unit *__restrict__ values, const unsigned char *__restrict__ dangling,
                           const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next,
                           double damping, int norm, const State *__restrict__ state,
                           unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (state->done) return;
  double total = 0.0;
  if (row < n)
    for (Pointer entry = indptr[row]; entry < indptr[row + 1]; ++entry)
      total += Values::read_once(values, entry) * Read::load(p, stream(indices + entry));
  finish_page<Read, Write>(n, row, total, dangling, p, next, damping, norm, state, changes, lost);
}

/// The same in ELLPACK: columns and values [width, n], padded with column 0 and value 0.
template <typename Values, typename Read, typename Write>
__global__ void ell_thread(int n, int width, const int *__restrict__ columns,
                           const typename Values::Unit *__restrict__ values, const unsigned char *__restrict__ dangling,
                           const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next,
                           double damping, int norm, const State *__restrict__ state,
                           unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (state->done) return;
  double total = 0.0;
  if (row < n)
    for (int slot = 0; slot < width; ++slot) {
      const long long at = (long long)slot * n + row;
      total += Values::read_once(values, at) * Read::load(p, stream(columns + at));
    }
  finish_page<Read, Write>(n, row, total, dangling, p, next, damping, norm, state, changes, lost);
}

/// The same without values: `scaled` holds p over the out-degree, where a dangling page counts as of degree 1.
template <typename Pointer, typename Read, typename Write>
__global__ void csr_free(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                         const int *__restrict__ degrees, const typename Read::Unit *__restrict__ scaled,
                         typename Write::Unit *__restrict__ next, double damping, int norm,
                         const State *__restrict__ state, unsigned long long *__restrict__ changes,
                         unsigned long long *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (state->done) return;
  double change = 0.0, hanging = 0.0;
  if (row < n) {
    double total = 0.0;
    for (Pointer entry = indptr[row]; entry < indptr[row + 1]; ++entry)
      total += Read::load(scaled, stream(indices + entry));
    const int degree = degrees[row];
    const double links = degree > 0 ? degree : 1;
    const double kept = Write::store(next, row, (damping * total + state->base) / links);
    change = (kept - Read::load(scaled, row)) * links;
    if (degree == 0) hanging = kept;
  }
  add_change(norm, change, changes, row / WARP);
  add_rank(hanging, lost, row / WARP);
}

/// Between two iterations, one warp: γ and the base of the next one from the slots, which it empties. history[k] is γ
/// of iteration k. `may_end`: whether the precision of this iteration can tell that the ranks have converged.
__global__ void next_iteration(int n, double damping, double spread, double epsilon, int norm, int may_end,
                               State *__restrict__ state, unsigned long long *__restrict__ changes,
                               unsigned long long *__restrict__ lost, double *__restrict__ history, int room) {
  if (state->done) return;
  const int lane = threadIdx.x;
  unsigned long long hanging = 0, units = 0;
  double size = 0.0;
  for (int slot = lane; slot < SLOTS; slot += WARP) {
    hanging += lost[slot];
    const double other = __longlong_as_double((long long)changes[slot]);
    if (norm == L1)
      units += changes[slot];
    else
      size = norm == L2 ? size + other : (other > size ? other : size);
    lost[slot] = changes[slot] = 0;
  }
  hanging = sum_warp(hanging), units = sum_warp(units);
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(FULL_WARP, size, offset);
    size = norm == L2 ? size + other : (other > size ? other : size);
  }
  if (lane != 0) return;
  const double gamma = norm == L1 ? units / UNITS_OF_ONE : (norm == L2 ? sqrt(size) : size);
  state->gamma = gamma;
  state->base = (1.0 - damping + spread * (hanging / UNITS_OF_ONE)) / n;
  if (state->finished < room) history[state->finished] = gamma;
  state->finished += 1;
  if (may_end && gamma < epsilon) state->done = 1;
}

/// Adds |p| of all pages to the slots.
template <typename Read>
__global__ void add_mass(int n, const typename Read::Unit *__restrict__ p, unsigned long long *__restrict__ mass) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const double rank = row < n ? Read::load(p, row) : 0.0;
  add_rank(rank < 0.0 ? -rank : rank, mass, row / WARP);
}

/// One warp: the factor that makes the mass 1, from the slots, which it empties.
__global__ void set_factor(State *__restrict__ state, unsigned long long *__restrict__ mass) {
  unsigned long long total = 0;
  for (int slot = threadIdx.x; slot < SLOTS; slot += WARP)
    total += mass[slot], mass[slot] = 0;
  total = sum_warp(total);
  if (threadIdx.x == 0) state->factor = total ? UNITS_OF_ONE / total : 1.0;
}

/// p := factor·p as stored; adds the rank of dangling pages to the slots.
template <typename Stored>
__global__ void scale(int n, typename Stored::Unit *p, const unsigned char *__restrict__ dangling,
                      const State *__restrict__ state, unsigned long long *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  double hanging = 0.0;
  if (row < n) {
    const double kept = Stored::store(p, row, state->factor * Stored::load(p, row));
    if (dangling[row]) hanging = kept;
  }
  add_rank(hanging, lost, row / WARP);
}

/// One warp, after `scale`: the base of the next iteration from the slots, which it empties.
__global__ void set_base(int n, double damping, double spread, State *__restrict__ state,
                         unsigned long long *__restrict__ lost) {
  unsigned long long hanging = 0;
  for (int slot = threadIdx.x; slot < SLOTS; slot += WARP)
    hanging += lost[slot], lost[slot] = 0;
  hanging = sum_warp(hanging);
  if (threadIdx.x == 0) state->base = (1.0 - damping + spread * (hanging / UNITS_OF_ONE)) / n;
}
