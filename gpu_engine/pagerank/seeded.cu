#include "ranks.cuh"
#include "spmm.cuh"

/// Rows of the state of all sets, and the status of a set: seeded_block.py.
enum Fact { BASE, GAMMA, LEAST, ITERATIONS, SINCE, STATUS };
enum Status { RUNS, CONVERGED, STALLED };

/// Most columns of a group of lanes.
constexpr int COLUMNS_MAX = 32;

__device__ __forceinline__ double widened(int norm, double size, double other) {
  return norm == LINF ? (other > size ? other : size) : size + other;
}

/// Weights of the seeds by page: those of page pages[i] are firsts[i] to firsts[i + 1].
struct Teleport {
  int count;
  const int *__restrict__ pages;
  const int *__restrict__ firsts;
  const int *__restrict__ sets;
  const double *__restrict__ weights;

  /// Adds the weights of a seed page, times the base of their columns, to its ranks.
  template <int V>
  __device__ __forceinline__ void add(int page, const int *set, const double *base, double (&rank)[V]) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (pages[middle] < page)
        low = middle + 1;
      else
        high = middle;
    }
    for (int entry = firsts[low]; entry < firsts[low + 1]; ++entry)
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (sets[entry] == set[v]) rank[v] += base[v] * weights[entry];
  }
};

/// The columns of a block of threads: their sets, base, base · uniform, and whether they run.
struct Tile {
  double base[COLUMNS_MAX], share[COLUMNS_MAX];
  int set[COLUMNS_MAX];
  bool runs[COLUMNS_MAX];

  /// All threads of the block call it; k counts the columns of all blocks.
  __device__ __forceinline__ void fill(int k, int columns, const int *__restrict__ sets,
                                       const double *__restrict__ uniform, const double *__restrict__ state,
                                       int count) {
    const int place = threadIdx.x, column = blockIdx.y * columns + place;
    if (place < columns) {
      const int number = column < k ? sets[column] : 0;
      const double factor = state[BASE * count + number];
      set[place] = number, base[place] = factor, share[place] = factor * uniform[number];
      runs[place] = column < k && state[STATUS * count + number] == RUNS;
    }
    __syncthreads();
  }
};

/// Writes the new ranks of V neighbouring columns, page by page, and sums up what they changed and the rank of those
/// that dangle. q and next are over the out-degree; a column that does not run keeps its ranks.
template <int V> struct Finish {
  const Tile &tile;
  int place;
  double changed[V] = {}, lost[V] = {};

  /// Columns of a lane.
  __device__ __forceinline__ Finish(const Tile &tile, int width) : tile(tile), place(threadIdx.x % width * V) {}

  __device__ __forceinline__ bool runs() const { return tile.runs[place] || tile.runs[place + V - 1]; }

  /// `sum` is what the links to the page carry; q and next point to the first of the columns, `code` is that of the
  /// page.
  __device__ __forceinline__ void take(int page, int code, const double (&sum)[V], const double *__restrict__ q,
                                       double *__restrict__ next, double damping, int norm, const Teleport &teleport) {
    const int degree = code < 0 ? ~code : code;
    const double links = degree > 0 ? degree : 1, part = 1.0 / links;
    double old[V], rank[V];
    load<V>(q, old);
#pragma unroll
    for (int v = 0; v < V; ++v)
      rank[v] = damping * sum[v] + tile.share[place + v];
    if (code < 0) teleport.add(page, tile.set + place, tile.base + place, rank);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      rank[v] = tile.runs[place + v] ? rank[v] * part : old[v];
      const double change = (rank[v] - old[v]) * links, size = change < 0.0 ? -change : change;
      changed[v] = widened(norm, changed[v], norm == L2 ? size * size : size);
      if (degree == 0) lost[v] += rank[v];
    }
    if (V == 2)
      __stcs(reinterpret_cast<double2 *>(next), make_double2(rank[0], rank[V - 1]));
    else
      __stcs(next, rank[0]);
  }

  /// Writes the sums of a block, per column, to place `part` of `parts`: changes [k, parts], then ranks that dangle.
  /// The order of the additions is fixed. All threads of the block call it once.
  __device__ __forceinline__ void add(int norm, int k, int width, int split, double *__restrict__ partials, int parts,
                                      int part) {
    __shared__ double warps[2][SPMM_BLOCK / WARP][COLUMNS_MAX];
    const int thread = threadIdx.x, lane = thread % WARP;
    for (int offset = WARP / 2; offset >= width * split; offset /= 2)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        changed[v] = widened(norm, changed[v], __shfl_down_sync(FULL_WARP, changed[v], offset));
        lost[v] += __shfl_down_sync(FULL_WARP, lost[v], offset);
      }
    if (lane < width)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        warps[0][thread / WARP][lane * V + v] = changed[v];
        warps[1][thread / WARP][lane * V + v] = lost[v];
      }
    __syncthreads();
    const int column = blockIdx.y * width * V + thread;
    if (thread >= width * V || column >= k) return;
    double change = 0.0, rank = 0.0;
    for (int warp = 0; warp < SPMM_BLOCK / WARP; ++warp) {
      change = widened(norm, change, warps[0][warp][thread]);
      rank += warps[1][warp][thread];
    }
    partials[(long long)column * parts + part] = change;
    partials[(long long)(k + column) * parts + part] = rank;
  }
};

/// Links to a page, without values if every link of a page carries the same share.
template <bool VALUED> struct Links {
  const int *__restrict__ indices;
  const double *__restrict__ values;

  __device__ __forceinline__ long long column(long long link) const { return stream(indices + link); }
  __device__ __forceinline__ double value(long long link) const { return VALUED ? stream(values + link) : 1.0; }
};

/// Blocks of a multiprocessor: as many as leave the registers that the links in flight and the sums need.
template <int V> constexpr int PULLS_AT_ONCE = V == 2 ? 4 : 5;

/// An iteration for the pages of one segment of links; a group of lanes takes several segments, one after the other,
/// and `sums` gets those of longer pages. Columns that do not run gather nothing.
template <int V, typename Pointer, bool VALUED>
__global__ void __launch_bounds__(SPMM_BLOCK, PULLS_AT_ONCE<V>)
    pull_columns(int segments, const Pointer *__restrict__ begins, const int *__restrict__ targets,
                 const int *__restrict__ indices, const double *__restrict__ values, double *__restrict__ sums, int k,
                 int width, int split, int parts, double *__restrict__ partials, const int *__restrict__ pages,
                 const double *__restrict__ q, double *__restrict__ next, double damping, int norm,
                 const int *__restrict__ sets, const double *__restrict__ uniform, const double *__restrict__ state,
                 int count, int seeds, const int *__restrict__ seed_pages, const int *__restrict__ seed_firsts,
                 const int *__restrict__ seed_sets, const double *__restrict__ seed_weights) {
  const Lane<V> lane(k, width, split);
  const Teleport teleport{seeds, seed_pages, seed_firsts, seed_sets, seed_weights};
  __shared__ Tile tile;
  tile.fill(k, width * V, sets, uniform, state, count);
  Finish<V> finish(tile, width);
  const long long apart = (long long)gridDim.x * (SPMM_BLOCK / (width * split));
#pragma unroll 1
  for (long long first = 0; first < segments; first += apart) {
    const long long segment = first + lane.group;
    Columns<V> total;
    if (segment < segments && finish.runs())
      total.add(begins[segment] + lane.part, begins[segment + 1], split, Links<VALUED>{indices, values},
                q + lane.column, k);
    total.join(width, split);
    if (segment < segments && lane.writes) {
      const int target = targets[segment];
      const long long at = target * (long long)k + lane.column;
      if (target >= 0)
        finish.take(target, pages[target], total.sum, q + at, next + at, damping, norm, teleport);
      else
        total.write(1.0, 0.0, sums + (long long)~target * k + lane.column);
    }
  }
  finish.add(norm, k, width, split, partials, parts, blockIdx.x);
}

/// The same for the pages of several segments, whose `sums` it adds up in a fixed order; a group of lanes takes several
/// pages. Its partial sums follow `first` others.
__global__ void __launch_bounds__(SPMM_BLOCK)
    join_columns(int rows, const int *__restrict__ cut, const int *__restrict__ firsts, const double *__restrict__ sums,
                 int first, int k, int width, int split, int parts, double *__restrict__ partials,
                 const int *__restrict__ pages, const double *__restrict__ q, double *__restrict__ next, double damping,
                 int norm, const int *__restrict__ sets, const double *__restrict__ uniform,
                 const double *__restrict__ state, int count, int seeds, const int *__restrict__ seed_pages,
                 const int *__restrict__ seed_firsts, const int *__restrict__ seed_sets,
                 const double *__restrict__ seed_weights) {
  const Lane<1> lane(k, width, split);
  const Teleport teleport{seeds, seed_pages, seed_firsts, seed_sets, seed_weights};
  __shared__ Tile tile;
  tile.fill(k, width, sets, uniform, state, count);
  Finish<1> finish(tile, width);
  const long long apart = (long long)gridDim.x * (SPMM_BLOCK / (width * split));
#pragma unroll 1
  for (long long before = 0; before < rows; before += apart) {
    const long long row = before + lane.group;
    Columns<1> total;
    if (row < rows && finish.runs())
#pragma unroll 4
      for (int segment = firsts[row] + lane.part; segment < firsts[row + 1]; segment += split)
        total.sum[0] += sums[(long long)segment * k + lane.column];
    total.join(width, split);
    if (row < rows && lane.writes) {
      const int page = cut[row];
      const long long at = page * (long long)k + lane.column;
      finish.take(page, pages[page], total.sum, q + at, next + at, damping, norm, teleport);
    }
  }
  finish.add(norm, k, width, split, partials, parts, first + blockIdx.x);
}

/// Between two iterations, a block per column: γ and the base of the next one, from the partial sums, and whether the
/// column has converged or its γ has not fallen for `patience` iterations. It does nothing if the column does not run.
__global__ void __launch_bounds__(SPMM_BLOCK)
    settle_columns(int k, int parts, const double *__restrict__ partials, double damping, double factor, int norm,
                   double epsilon, int patience, const int *__restrict__ sets, double *__restrict__ state, int count) {
  __shared__ double warps[2][SPMM_BLOCK / WARP];
  const int column = blockIdx.x, thread = threadIdx.x, set = sets[column];
  if (state[STATUS * count + set] != RUNS) return;
  const double *const changes = partials + (long long)column * parts, *const ranks = changes + (long long)k * parts;
  double change = 0.0, lost = 0.0;
  for (int part = thread; part < parts; part += SPMM_BLOCK) {
    change = widened(norm, change, changes[part]);
    lost += ranks[part];
  }
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    change = widened(norm, change, __shfl_down_sync(FULL_WARP, change, offset));
    lost += __shfl_down_sync(FULL_WARP, lost, offset);
  }
  if (thread % WARP == 0) warps[0][thread / WARP] = change, warps[1][thread / WARP] = lost;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < SPMM_BLOCK / WARP; ++warp)
    change = widened(norm, change, warps[0][warp]), lost += warps[1][warp];
  const double gamma = norm == L2 ? sqrt(change) : change;
  double *const facts = state + set;
  const bool falls = gamma < facts[LEAST * count];
  const double since = falls ? 0.0 : facts[SINCE * count] + 1.0;
  facts[BASE * count] = 1.0 - damping + factor * lost;
  facts[GAMMA * count] = gamma;
  if (falls) facts[LEAST * count] = gamma;
  facts[ITERATIONS * count] += 1.0;
  facts[SINCE * count] = since;
  facts[STATUS * count] = gamma < epsilon ? CONVERGED : (since >= patience ? STALLED : RUNS);
}

/// Moves column j of a block of k to column targets[j] of one of `width`, or as ranks to column ~targets[j] of `out`.
__global__ void __launch_bounds__(SPMM_BLOCK)
    move_columns(long long elements, int k, int width, const int *__restrict__ pages, const double *__restrict__ q,
                 double *__restrict__ remaining, double *__restrict__ out, int count, const int *__restrict__ targets) {
  for (long long at = (long long)blockIdx.x * SPMM_BLOCK + threadIdx.x; at < elements;
       at += (long long)gridDim.x * SPMM_BLOCK) {
    const long long page = at / k;
    const int target = targets[at % k], code = pages[page], degree = code < 0 ? ~code : code;
    if (target >= 0)
      remaining[page * width + target] = q[at];
    else
      out[page * count + ~target] = q[at] * (degree > 0 ? degree : 1);
  }
}

/// Iterates of a combination, and pairs of the changes before each of them: extrapolation.py.
constexpr int TERMS = 5, PAIRS = TERMS * (TERMS + 1) / 2;

/// Dot products of the changes between successive iterates x0 to x5, per column: `sums` is [PAIRS, k, blocks]. A thread
/// has one column, as has every k-th one after it; the order of the additions is fixed. Two blocks per multiprocessor
/// leave room for the sums in registers.
__global__ void __launch_bounds__(SPMM_BLOCK, 2)
    dot_columns(int pages, int k, const double *__restrict__ x0, const double *__restrict__ x1,
                const double *__restrict__ x2, const double *__restrict__ x3, const double *__restrict__ x4,
                const double *__restrict__ x5, double *__restrict__ sums) {
  __shared__ double threads[SPMM_BLOCK];
  const int thread = threadIdx.x, column = thread % k, rows = SPMM_BLOCK / k, row = thread / k;
  double dots[PAIRS] = {};
  if (row < rows)
    for (long long page = (long long)blockIdx.x * rows + row; page < pages; page += (long long)gridDim.x * rows) {
      const long long at = page * k + column;
      const double values[TERMS + 1] = {x0[at], x1[at], x2[at], x3[at], x4[at], x5[at]};
      int pair = 0;
#pragma unroll
      for (int i = 0; i < TERMS; ++i)
#pragma unroll
        for (int j = i; j < TERMS; ++j)
          dots[pair++] += (values[i + 1] - values[i]) * (values[j + 1] - values[j]);
    }
#pragma unroll
  for (int pair = 0; pair < PAIRS; ++pair) {
    threads[thread] = dots[pair];
    __syncthreads();
    if (thread < k) {
      double sum = 0.0;
      for (int other = 0; other < rows; ++other)
        sum += threads[other * k + thread];
      sums[((long long)pair * k + thread) * gridDim.x + blockIdx.x] = sum;
    }
    __syncthreads();
  }
}

/// Sets the last iterate, x4, to the combination of x0 to x4, and negative ranks to 0; a factor of 1 keeps a column.
__global__ void __launch_bounds__(SPMM_BLOCK)
    combine_columns(long long elements, int k, const double *__restrict__ factors, const double *__restrict__ x0,
                    const double *__restrict__ x1, const double *__restrict__ x2, const double *__restrict__ x3,
                    double *__restrict__ x4) {
  for (long long at = (long long)blockIdx.x * SPMM_BLOCK + threadIdx.x; at < elements;
       at += (long long)gridDim.x * SPMM_BLOCK) {
    const double *const factor = factors + at % k;
    if (factor[(TERMS - 1) * k] == 1.0) continue;
    const double rank = factor[0] * x0[at] + factor[k] * x1[at] + factor[2 * k] * x2[at] + factor[3 * k] * x3[at] +
                        factor[4 * k] * x4[at];
    x4[at] = rank > 0.0 ? rank : 0.0;
  }
}
