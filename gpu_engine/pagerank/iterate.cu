#include "slots.cuh"
#include "thread_row.cuh"
#include "tile_entries.cuh"
#include "tiles.cuh"

template <typename A, typename B> struct Same {
  static constexpr bool VALUE = false;
};
template <typename A> struct Same<A, A> {
  static constexpr bool VALUE = true;
};

/// Writes new ranks, page by page, and keeps what they changed, the rank of those that dangle and, where the precision
/// is raised, the sum of all, until `add`. The ranks that are read count state->factor times. Where there are no
/// values, p and next are over the out-degree, a dangling page counting as of degree 1.
template <typename Values, typename Read, typename Write> struct Finish {
  using Page = PageOf<Values>;
  static constexpr bool RAISES = !Same<Read, Write>::VALUE;
  const typename Page::Type *__restrict__ pages;
  const typename Read::Unit *__restrict__ p;
  typename Write::Unit *__restrict__ next;
  double damping, factor, base;
  int norm;
  double changed = 0.0, hanging = 0.0, mass = 0.0;
  typename Page::Type page = 0, next_page = 0;
  double old = 0.0, next_old = 0.0;

  __device__ __forceinline__ Finish(const typename Page::Type *pages, const typename Read::Unit *p,
                                    typename Write::Unit *next, double damping, int norm, const State *state)
      : pages(pages), p(p), next(next), damping(damping), factor(state->factor), base(state->base), norm(norm) {}

  /// Loads what `take` needs of the page, long before it is waited for; `turn` comes between the two.
  __device__ __forceinline__ void ask(long long row) { next_page = __ldg(pages + row), next_old = Read::load(p, row); }
  __device__ __forceinline__ void turn() { page = next_page, old = next_old; }

  /// `total` is what the links to the page carry.
  __device__ __forceinline__ void take(long long row, double total) {
    const double links = Page::links(page), rank = damping * (factor * total) + base;
    const double kept = Write::store(next, row, links == 1.0 ? rank : rank / links);
    const double change = (kept - factor * old) * links, size = change < 0.0 ? -change : change;
    if (norm == L1)
      changed += size;
    else
      changed = norm == L2 ? changed + size * size : (size > changed ? size : changed);
    if (Page::dangles(page)) hanging += kept;
    if (RAISES) mass += kept * links;
  }

  /// All lanes of a warp come here once.
  __device__ __forceinline__ void add(unsigned long long *changes, unsigned long long *lost, unsigned long long *masses,
                                      long long warp) {
    add_change(norm, changed, changes, warp);
    add_rank(hanging, lost, warp);
    if (RAISES) add_rank(mass, masses, warp);
  }
};

/// Σ over the links of a page, which lie `step` apart from `first` on; AHEAD of them are in flight.
template <int AHEAD, typename Values, typename Read>
__device__ __forceinline__ double
sum_links(int length, long long first, long long step, const int *__restrict__ columns,
          const typename Values::Unit *__restrict__ values, const typename Read::Unit *__restrict__ p) {
  return sum_slots<AHEAD>(
      length, first, step, columns, [values](long long at) { return Values::read_once(values, at); },
      [p](int column) { return Read::load(p, column); });
}

/// next := damping·Aᵀ·p + base, one thread a page or several, one after the other; the rows of Aᵀ in CSR. AHEAD links
/// of a page are in flight.
template <typename Pointer, typename Values, typename Read, typename Write>
__global__ void
csr_thread(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
           const typename Values::Unit *__restrict__ values, const typename PageOf<Values>::Type *__restrict__ pages,
           const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next, double damping, int norm,
           const State *__restrict__ state, unsigned long long *__restrict__ changes,
           unsigned long long *__restrict__ lost, unsigned long long *__restrict__ masses) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  for (long long row = thread; row < n; row += (long long)gridDim.x * blockDim.x) {
    finish.ask(row), finish.turn();
    const Pointer begin = indptr[row];
    finish.take(row, sum_row((int)(indptr[row + 1] - begin), begin, indices,
                             [values](long long at) { return Values::load(values, at); },
                             [p](int column) { return Read::load(p, column); }));
  }
  finish.add(changes, lost, masses, thread / WARP);
}

/// The same, LANES threads a page: they take its links in turns. A warp has as many pages as threads, one after the
/// other, so that what a page has to do for itself is done for all of them at once.
template <int LANES, typename Pointer, typename Values, typename Read, typename Write>
__global__ void
csr_vector(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
           const typename Values::Unit *__restrict__ values, const typename PageOf<Values>::Type *__restrict__ pages,
           const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next, double damping, int norm,
           const State *__restrict__ state, unsigned long long *__restrict__ changes,
           unsigned long long *__restrict__ lost, unsigned long long *__restrict__ masses) {
  constexpr int GROUPS = WARP / LANES;
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % WARP;
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  if (row < n) finish.ask(row), finish.turn();
  double mine = 0.0;
#pragma unroll 1
  for (int turn = 0; turn < LANES; ++turn) {
    const long long page = row - lane + turn * GROUPS + lane / LANES;
    const Pointer end = page < n ? indptr[page + 1] : 0;
    double total = 0.0;
    for (Pointer link = page < n ? indptr[page] + lane % LANES : 0; link < end; link += LANES)
      total += Values::read_once(values, link) * Read::load(p, stream(indices + link));
    total = __shfl_sync(FULL_WARP, sum_lanes<LANES>(total), lane % GROUPS * LANES);
    if (lane / GROUPS == turn) mine = total;
  }
  if (row < n) finish.take(row, mine);
  finish.add(changes, lost, masses, row / WARP);
}

/// The same in ELLPACK: columns and values [width, n], padded with column −1.
template <typename Values, typename Read, typename Write>
__global__ void
ell_thread(int n, int width, const int *__restrict__ columns, const typename Values::Unit *__restrict__ values,
           const typename PageOf<Values>::Type *__restrict__ pages, const typename Read::Unit *__restrict__ p,
           typename Write::Unit *__restrict__ next, double damping, int norm, const State *__restrict__ state,
           unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost,
           unsigned long long *__restrict__ masses) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  if (row < n) {
    finish.ask(row), finish.turn();
    finish.take(row, sum_links<4, Values, Read>(width, row, n, columns, values, p));
  }
  finish.add(changes, lost, masses, row / WARP);
}

/// Blocks of a multiprocessor: with values in segments of 16 bits as many as leave registers for several links in
/// flight. Left to itself, the compiler takes one link after the other there.
template <typename Values, typename Read>
constexpr int SLICES_AT_ONCE = IS_SHORT16<Values>                   ? 7
                               : sizeof(typename Values::Unit) == 2 ? 10
                                                                    : (sizeof(typename Read::Unit) == 2 ? 12 : 16);

/// The same in SELL-C-σ: a slice of WARP pages lies column by column from offsets[slice] on, padded with column −1.
/// Ranks are in the order of the rows.
template <int AHEAD, typename Values, typename Read, typename Write>
__global__ void __launch_bounds__(128, SLICES_AT_ONCE<Values, Read>)
    sellp_thread(int n, const long long *__restrict__ offsets, const int *__restrict__ columns,
                 const typename Values::Unit *__restrict__ values,
                 const typename PageOf<Values>::Type *__restrict__ pages, const typename Read::Unit *__restrict__ p,
                 typename Write::Unit *__restrict__ next, double damping, int norm, const State *__restrict__ state,
                 unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost,
                 unsigned long long *__restrict__ masses) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  if (row < n) {
    finish.ask(row), finish.turn();
    const long long begin = __ldg(offsets + row / WARP);
    const int width = (int)((__ldg(offsets + row / WARP + 1) - begin) / WARP);
    finish.take(row, sum_links<AHEAD, Values, Read>(width, begin + row % WARP, WARP, columns, values, p));
  }
  finish.add(changes, lost, masses, row / WARP);
}

/// Blocks of a multiprocessor: as many as leave the registers that these types need.
template <typename Pointer, typename Read, typename Write>
constexpr int TILES_AT_ONCE =
    sizeof(Pointer) == 8 || IS_SHORT16<Read> || Same<Read, Fp32>::VALUE || !Same<Read, Write>::VALUE ? 10 : 12;

/// The same but for the pages whose rows are cut, a block a tile: multiply_tile, then join_pages.
template <typename Pointer, int THREADS, int ITEMS, typename Values, typename Read, typename Write>
__global__ void __launch_bounds__(THREADS, TILES_AT_ONCE<Pointer, Read, Write>)
    tile_pages(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
               const Pointer *__restrict__ indptr, const int *__restrict__ indices,
               const typename Values::Unit *__restrict__ values, double *__restrict__ first_sums,
               double *__restrict__ last_sums, const typename PageOf<Values>::Type *__restrict__ pages,
               const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next, double damping,
               int norm, const State *__restrict__ state, unsigned long long *__restrict__ changes,
               unsigned long long *__restrict__ lost, unsigned long long *__restrict__ masses) {
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  multiply_tile<Pointer, THREADS, ITEMS, true>(
      borders, first_rows, indptr, TileEntries<Values>{indices, values},
      [p](int column) { return Read::load(p, column); }, first_sums, last_sums, finish);
  finish.add(changes, lost, masses, (long long)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP);
}

/// The pages whose rows are cut, a warp a row.
template <typename Values, typename Read, typename Write>
__global__ void
join_pages(int n_cut, const int *__restrict__ rows, const int *__restrict__ first_tiles,
           const int *__restrict__ last_tiles, const double *__restrict__ first_sums,
           const double *__restrict__ last_sums, const typename PageOf<Values>::Type *__restrict__ pages,
           const typename Read::Unit *__restrict__ p, typename Write::Unit *__restrict__ next, double damping, int norm,
           const State *__restrict__ state, unsigned long long *__restrict__ changes,
           unsigned long long *__restrict__ lost, unsigned long long *__restrict__ masses) {
  const int number = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP);
  if (number >= n_cut) return;
  Finish<Values, Read, Write> finish(pages, p, next, damping, norm, state);
  const int row = rows[number];
  if (threadIdx.x % WARP == 0) finish.ask(row), finish.turn();
  const double total = join_parts(first_tiles[number], last_tiles[number], first_sums, last_sums);
  if (threadIdx.x % WARP == 0) finish.take(row, total);
  finish.add(changes, lost, masses, number);
}

/// Streams links and gathers p as an iteration does, four links in flight a thread, without any work by rows: what no
/// iteration can be faster than.
template <typename Values, typename Read>
__global__ void gather_pages(long long nnz, const int *__restrict__ indices,
                             const typename Values::Unit *__restrict__ values,
                             const typename Read::Unit *__restrict__ p, double never, double *__restrict__ out) {
  constexpr int AHEAD = 4;
  const long long first = (long long)blockIdx.x * blockDim.x * AHEAD + threadIdx.x;
  int columns[AHEAD];
  double factors[AHEAD];
#pragma unroll
  for (int item = 0; item < AHEAD; ++item) {
    const long long link = first + (long long)item * blockDim.x;
    columns[item] = link < nnz ? stream(indices + link) : -1;
    factors[item] = link < nnz ? Values::read_once(values, link) : 0.0;
  }
  double total = 0.0;
#pragma unroll
  for (int item = 0; item < AHEAD; ++item)
    if (columns[item] >= 0) total += factors[item] * Read::load(p, columns[item]);
  if (total == never) out[0] = total;
}
