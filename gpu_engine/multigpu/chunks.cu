#include "tiles.cuh"

/// Entries with the same base of their columns: packed_stretches.STRETCH.
constexpr long long STRETCH = 1 << 15;

/// A chunk as packer.Chunk describes it. What is sent as it is lies in `columns` or `values`.
struct ChunkEntries {
  long long start;
  int column_bytes, value_bytes;
  const int *__restrict__ columns;
  const double *__restrict__ values;
  const int *__restrict__ bases;
  const int *__restrict__ spares;
  const double *__restrict__ table;
  const unsigned char *__restrict__ codes;
  const unsigned short *__restrict__ low;
  const unsigned char *__restrict__ high;
  const unsigned char *__restrict__ spare;

  __device__ __forceinline__ int column(long long entry, int base, const int *mine) const {
    if (column_bytes == 4) return stream(columns + entry);
    if (mine) return stream(mine + entry % STRETCH);
    const int offset = stream(low + entry);
    return base + (column_bytes == 3 ? offset | stream(high + entry) << 16 : offset);
  }

  __device__ __forceinline__ double value(long long entry, const double *mine) const {
    if (value_bytes == 8) return stream(values + entry);
    if (mine) return stream(mine + entry % STRETCH);
    if (value_bytes == 0) return __ldg(table);
    if (value_bytes == 1) return __ldg(table + stream(codes + entry));
    return __ldg(table + stream(reinterpret_cast<const unsigned short *>(codes) + entry));
  }

  /// A tile lies in one stretch, so that all threads of its block take the same ways.
  template <int ITEMS>
  __device__ __forceinline__ void load(long long begin, int mine, int count, int (&found)[ITEMS],
                                       double (&factors)[ITEMS]) const {
    const long long tile = begin - start, stretch = tile / STRETCH;
    const bool packed = column_bytes < 4 || value_bytes < 8;
    const int slot = packed && count ? __ldg(spares + stretch) : -1,
              base = packed && count ? __ldg(bases + stretch) : 0;
    const unsigned char *whole = spare + slot * STRETCH * 12;
    const double *whole_values = slot < 0 ? nullptr : reinterpret_cast<const double *>(whole);
    const int *whole_columns = slot < 0 ? nullptr : reinterpret_cast<const int *>(whole + STRETCH * 8);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int place = mine + item * WARP;
      found[item] = place < count ? column(tile + place, base, whole_columns) : -1;
    }
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int place = mine + item * WARP;
      factors[item] = place < count ? value(tile + place, whole_values) : 0.0;
    }
  }
};

/// The sums of rows, stored as they are.
struct ChunkRows {
  double *__restrict__ y;
  __device__ __forceinline__ void ask(int) {}
  __device__ __forceinline__ void take(int row, double sum) { y[row] = sum; }
};

/// Tiles of `size` entries from `start` on, the last one smaller; a thread a border. Rows are counted from the chunk's
/// first one, which may have begun before it. A row is cut where a border falls into it.
template <typename Pointer>
__global__ void find_tiles(int tiles, int size, Pointer start, Pointer end, int rows,
                           const Pointer *__restrict__ indptr, Pointer *__restrict__ borders,
                           unsigned *__restrict__ first_rows) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile > tiles) return;
  const Pointer border = tile == tiles ? end : start + (Pointer)tile * size;
  borders[tile] = border;
  if (tile == 0) {
    first_rows[0] = rows && indptr[0] < border ? CUT : 0;
    return;
  }
  if (tile == tiles) {
    first_rows[tiles] = rows && indptr[rows] > border ? (rows - 1) | CUT : rows;
    return;
  }
  int low = 0, high = rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (__ldg(indptr + middle) < border)
      low = middle + 1;
    else
      high = middle;
  }
  // Empty rows that begin at a border belong to the tile after it.
  first_rows[tile] = __ldg(indptr + low) > border ? (low - 1) | CUT : low;
}

/// y := A·x of a chunk but for the rows that borders cut: multiply_tile, then join_tiles.
template <typename Pointer, int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS)
    chunk_tile(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
               const Pointer *__restrict__ indptr, long long start, int column_bytes, int value_bytes,
               const int *__restrict__ columns, const double *__restrict__ values, const int *__restrict__ bases,
               const int *__restrict__ spares, const double *__restrict__ table,
               const unsigned char *__restrict__ codes, const unsigned short *__restrict__ low,
               const unsigned char *__restrict__ high, const unsigned char *__restrict__ spare,
               const double *__restrict__ x, double *__restrict__ y, double *__restrict__ first_sums,
               double *__restrict__ last_sums) {
  const ChunkEntries entries{start,  column_bytes, value_bytes, columns, values, bases,
                             spares, table,        codes,       low,     high,   spare};
  multiply_tile<Pointer, THREADS, ITEMS, false>(
      borders, first_rows, indptr, entries, [x](int column) { return __ldg(x + column); }, first_sums, last_sums,
      ChunkRows{y});
}

/// y of the rows that borders cut, a warp a tile in which one begins; the warp after those of the tiles finds the share
/// of the row that began before the chunk.
__global__ void join_tiles(int tiles, const unsigned *__restrict__ first_rows, const double *__restrict__ first_sums,
                           const double *__restrict__ last_sums, double *__restrict__ y, double *__restrict__ share) {
  const int tile = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
  if (tile > tiles) return;
  const bool began_before = tile == tiles;
  const unsigned row = __ldg(first_rows + (began_before ? 0 : tile + 1));
  if (!(row & CUT) || (!began_before && __ldg(first_rows + tile) == row)) return;
  double total = !began_before && lane == 0 ? last_sums[tile] : 0.0;
  for (int next = (began_before ? 0 : tile + 1) + lane; next < tiles && __ldg(first_rows + next) == row; next += WARP)
    total += first_sums[next];
  total = sum_lanes<WARP>(total);
  if (lane == 0) *(began_before ? share : y + (row & ~CUT)) = total;
}
