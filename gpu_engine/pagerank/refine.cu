#include "tile_entries.cuh"
#include "tiles.cuh"

/// What both kinds of pass know of a page. Ranks and corrections are over its out-degree, a dangling page counting as
/// of degree 1; corrections and residuals are kept as `Number`.
template <typename Number, typename Stored> struct Page {
  using Type = Stored;
  const int *__restrict__ degrees;
  const Stored *__restrict__ read;
  Number *__restrict__ write, *__restrict__ rest;
  double damping, weight, base;
  double changed = 0.0, hanging = 0.0;
  int degree = 0, next_degree = 0;
  Stored old = 0, next_old = 0;

  __device__ __forceinline__ Page(const int *degrees, const Stored *read, Number *write, Number *rest, double damping,
                                  double weight, const State *state)
      : degrees(degrees), read(read), write(write), rest(rest), damping(damping), weight(weight), base(state->base) {}
  __device__ __forceinline__ void ask(long long row) {
    next_degree = __ldg(degrees + row), next_old = __ldg(read + row);
  }
  __device__ __forceinline__ void turn() { degree = next_degree, old = next_old; }
  __device__ __forceinline__ double links() const { return degree > 0 ? degree : 1; }
  __device__ __forceinline__ void count(double change, double rank) {
    changed += change < 0.0 ? -change : change;
    if (degree == 0) hanging += rank;
  }

  /// All lanes of a warp come here once.
  __device__ __forceinline__ void add(unsigned long long *changes, unsigned long long *lost, long long warp) {
    add_rank(changed, changes, warp), add_rank(hanging, lost, warp);
  }
};

/// r := G(p) − p in fp64, kept as `rest`; the first correction is r itself.
template <typename Number> struct Residual : Page<Number, double> {
  using Page<Number, double>::Page;
  static constexpr int TILES_AT_ONCE = 12;
  __device__ __forceinline__ void take(long long row, double total) {
    const double links = this->links(), rest = this->damping * total + this->base - this->old * links;
    this->rest[row] = (Number)rest;
    this->write[row] = (Number)(rest / links);
    this->count(rest, rest);
  }
};

/// d' := damping·Aᵀ·d + base + r. ACCELERATED: d″ + weight·(d' − d″), d″ the correction before d, which lies where d'
/// is written.
template <typename Number, bool ACCELERATED> struct Sweep : Page<Number, Number> {
  using Page<Number, Number>::Page;
  /// Blocks of a multiprocessor in tiles: as many as leave the registers that these numbers need.
  static constexpr int TILES_AT_ONCE = ACCELERATED && sizeof(Number) == 8 ? 10 : 12;
  Number remainder = 0, next_remainder = 0, previous = 0, next_previous = 0;
  __device__ __forceinline__ void ask(long long row) {
    Page<Number, Number>::ask(row);
    next_remainder = stream(this->rest + row);
    if (ACCELERATED) next_previous = this->write[row];
  }
  __device__ __forceinline__ void turn() {
    Page<Number, Number>::turn();
    remainder = next_remainder, previous = next_previous;
  }
  __device__ __forceinline__ void take(long long row, double total) {
    const double links = this->links(), before = previous * links;
    const double found = this->damping * total + this->base + remainder;
    const Number kept = (Number)((ACCELERATED ? before + this->weight * (found - before) : found) / links);
    this->write[row] = kept;
    this->count(found - this->old * links, kept);
  }
};

/// A pass over the links in SELL-C-σ, one thread a page.
template <int AHEAD, typename Pass>
__global__ void sellp_thread(int n, const long long *__restrict__ offsets, const int *__restrict__ columns,
                             const double *, const int *__restrict__ degrees,
                             const typename Pass::Type *__restrict__ read, decltype(Pass::write) write,
                             decltype(Pass::rest) rest, double damping, double weight, const State *__restrict__ state,
                             unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  Pass pass(degrees, read, write, rest, damping, weight, state);
  if (row < n) {
    pass.ask(row), pass.turn();
    const long long begin = __ldg(offsets + row / WARP), end = __ldg(offsets + row / WARP + 1);
    typename Pass::Type total = 0;
    for (long long slot = begin + row % WARP; slot < end; slot += AHEAD * WARP) {
      int column[AHEAD];
#pragma unroll
      for (int item = 0; item < AHEAD; ++item)
        column[item] = slot + item * WARP < end ? stream(columns + slot + item * WARP) : -1;
#pragma unroll
      for (int item = 0; item < AHEAD; ++item)
        if (column[item] >= 0) total += __ldg(read + column[item]);
    }
    pass.take(row, total);
  }
  pass.add(changes, lost, row / WARP);
}

/// A pass in tiles, but for the pages whose rows are cut: multiply_tile, then join_pages.
template <typename Pointer, int THREADS, int ITEMS, typename Pass>
__global__ void __launch_bounds__(THREADS, Pass::TILES_AT_ONCE)
    tile_pages(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
               const Pointer *__restrict__ indptr, const int *__restrict__ indices, const double *,
               double *__restrict__ first_sums, double *__restrict__ last_sums, const int *__restrict__ degrees,
               const typename Pass::Type *__restrict__ read, decltype(Pass::write) write, decltype(Pass::rest) rest,
               double damping, double weight, const State *__restrict__ state, unsigned long long *__restrict__ changes,
               unsigned long long *__restrict__ lost) {
  Pass pass(degrees, read, write, rest, damping, weight, state);
  multiply_tile<Pointer, THREADS, ITEMS, true>(
      borders, first_rows, indptr, TileEntries<None>{indices, nullptr},
      [read](int column) { return (double)__ldg(read + column); }, first_sums, last_sums, pass);
  pass.add(changes, lost, (long long)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP);
}

/// The pages whose rows are cut, a warp a row.
template <typename Pass>
__global__ void join_pages(int n_cut, const int *__restrict__ rows, const int *__restrict__ first_tiles,
                           const int *__restrict__ last_tiles, const double *__restrict__ first_sums,
                           const double *__restrict__ last_sums, const int *__restrict__ degrees,
                           const typename Pass::Type *__restrict__ read, decltype(Pass::write) write,
                           decltype(Pass::rest) rest, double damping, double weight, const State *__restrict__ state,
                           unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  if (number >= n_cut) return;
  Pass pass(degrees, read, write, rest, damping, weight, state);
  const int row = rows[number];
  if (threadIdx.x % WARP == 0) pass.ask(row), pass.turn();
  const double total = join_parts(first_tiles[number], last_tiles[number], first_sums, last_sums);
  if (threadIdx.x % WARP == 0) pass.take(row, total);
  pass.add(changes, lost, number);
}

/// A pass over the rows as CSR has them, one thread for one page after the other: for a graph without links, which has
/// no tiles.
template <typename Pointer, typename Pass>
__global__ void csr_thread(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices, const double *,
                           const int *__restrict__ degrees, const typename Pass::Type *__restrict__ read,
                           decltype(Pass::write) write, decltype(Pass::rest) rest, double damping, double weight,
                           const State *__restrict__ state, unsigned long long *__restrict__ changes,
                           unsigned long long *__restrict__ lost) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  Pass pass(degrees, read, write, rest, damping, weight, state);
  for (long long row = thread; row < n; row += (long long)gridDim.x * blockDim.x) {
    pass.ask(row), pass.turn();
    double total = 0.0;
    for (Pointer link = indptr[row]; link < indptr[row + 1]; ++link)
      total += __ldg(read + indices[link]);
    pass.take(row, total);
  }
  pass.add(changes, lost, thread / WARP);
}

/// p := p + d.
template <typename Number>
__global__ void correct(int n, const int *__restrict__ degrees, const Number *__restrict__ d, double *__restrict__ p,
                        unsigned long long *__restrict__ lost) {
  const long long page = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  double hanging = 0.0;
  if (page < n) {
    const double now = p[page] + d[page];
    p[page] = now;
    if (degrees[page] == 0) hanging = now;
  }
  add_rank(hanging, lost, page / WARP);
}

/// Between two passes, one block: the norm of the last change, and the base of the next pass, whose pages get
/// `teleport`, all together, beside the rank of dangling pages. Empties the slots.
__global__ void __launch_bounds__(BLOCK)
    settle(int n, double teleport, double spread, State *__restrict__ state, unsigned long long *__restrict__ changes,
           unsigned long long *__restrict__ lost) {
  unsigned long long hanging = 0, units = 0;
#pragma unroll
  for (int item = 0; item < SLOTS / BLOCK; ++item) {
    const int slot = item * BLOCK + threadIdx.x;
    hanging += lost[slot], units += changes[slot];
    lost[slot] = changes[slot] = 0;
  }
  hanging = sum_block(hanging), units = sum_block(units);
  if (threadIdx.x != 0) return;
  state->gamma = units / UNITS_OF_ONE;
  state->base = (teleport + spread * ((long long)hanging / UNITS_OF_ONE)) / n;
}
