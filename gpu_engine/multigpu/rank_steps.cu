#include "product.cuh"
#include "tile_entries.cuh"

/// totals := what flows along the links to each page, but for cut rows, a block a tile; then join_cut_rows.
template <typename Pointer, int THREADS, int ITEMS, typename Read>
__global__ void __launch_bounds__(THREADS)
    tile_totals(const Pointer *__restrict__ borders, const unsigned *__restrict__ first_rows,
                const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                const typename Read::Unit *__restrict__ values, const typename Read::Unit *__restrict__ p,
                double *__restrict__ totals, double *__restrict__ first_sums, double *__restrict__ last_sums) {
  multiply_tile<Pointer, THREADS, ITEMS, false>(
      borders, first_rows, indptr, TileEntries<Read>{indices, values},
      [p](int column) { return Read::load(p, column); }, first_sums, last_sums, Product{totals});
}

/// Of all threads of a block, LINF the largest and else the sum, in a fixed order; thread 0 holds it.
__device__ __forceinline__ double join_block(int norm, double size) {
  __shared__ double warps[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  size = join_sizes(norm == LINF ? LINF : L2, size);
  if (lane == 0) warps[warp] = size;
  __syncthreads();
  size = warp == 0 && lane < blockDim.x / WARP ? warps[lane] : 0.0;
  return warp == 0 ? join_sizes(norm == LINF ? LINF : L2, size) : 0.0;
}

/// The new ranks of `count` pages from `first` on: kept in `next`, and in `totals` as they were kept; found[block] is
/// what changed in the pages of a block.
template <typename Read, typename Write>
__global__ void finish_pages(long long first, long long count, const typename Read::Unit *__restrict__ p,
                             typename Write::Unit *__restrict__ next, double damping, const double *__restrict__ base,
                             int norm, double *__restrict__ totals, double *__restrict__ found) {
  double changed = 0.0;
  for (long long page = (long long)blockIdx.x * blockDim.x + threadIdx.x; page < count;
       page += (long long)gridDim.x * blockDim.x) {
    const double kept = Write::store(next, first + page, damping * totals[page] + *base);
    const double change = kept - Read::load(p, first + page), size = change < 0.0 ? -change : change;
    totals[page] = kept;
    if (norm == LINF)
      changed = size > changed ? size : changed;
    else
      changed += norm == L2 ? size * size : size;
  }
  changed = join_block(norm, changed);
  if (threadIdx.x == 0) found[blockIdx.x] = changed;
}

/// p := factor · p on the same pages, also in `totals`; found[block] is what their sizes add up to.
template <typename Ranks>
__global__ void scale_pages(long long first, long long count, typename Ranks::Unit *p, double factor,
                            double *__restrict__ totals, double *__restrict__ found) {
  double mass = 0.0;
  for (long long page = (long long)blockIdx.x * blockDim.x + threadIdx.x; page < count;
       page += (long long)gridDim.x * blockDim.x) {
    const double kept = Ranks::store(p, first + page, factor * Ranks::load(p, first + page));
    totals[page] = kept;
    mass += kept < 0.0 ? -kept : kept;
  }
  mass = join_block(L1, mass);
  if (threadIdx.x == 0) found[blockIdx.x] = mass;
}

/// found[block] := what the picked pages of a block add up to.
__global__ void sum_picked(long long count, const long long *__restrict__ picked, const double *__restrict__ totals,
                           double *__restrict__ found) {
  double sum = 0.0;
  for (long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x; item < count;
       item += (long long)gridDim.x * blockDim.x)
    sum += totals[picked[item]];
  sum = join_block(L1, sum);
  if (threadIdx.x == 0) found[blockIdx.x] = sum;
}

/// sums[0], sums[1] := what the blocks found, by the norm and as a sum; one block, a thread a block of theirs.
__global__ void join_found(int norm, const double *__restrict__ changes, const double *__restrict__ picked,
                           double *__restrict__ sums) {
  const double changed = join_block(norm, changes[threadIdx.x]);
  __syncthreads();
  const double sum = join_block(L1, picked[threadIdx.x]);
  if (threadIdx.x == 0) sums[0] = changed, sums[1] = sum;
}

/// found := `count` ranks from `first` on.
template <typename Read>
__global__ void copy_pages(long long first, long long count, const typename Read::Unit *__restrict__ p,
                           double *__restrict__ found) {
  const long long page = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (page < count) found[page] = Read::load(p, first + page);
}
