#include "ranks.cuh"
#include "slots.cuh"
#include "thread_row.cuh"

/// What every page gets without a link: teleport and its share of the rank `lost` on dangling pages.
__device__ __forceinline__ double base_of(double teleport, double spread, const double *__restrict__ lost) {
  return teleport + spread * *lost;
}

/// next := damping·Aᵀ·p + base, one thread a page; the rows of Aᵀ in CSR.
template <typename Pointer, typename Values, typename Read, typename Write>
__global__ void csr_thread(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                           const typename Values::Unit *__restrict__ values, const typename Read::Unit *__restrict__ p,
                           typename Write::Unit *__restrict__ next, double damping, double teleport, double spread,
                           const double *__restrict__ lost) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long row = thread; row < n; row += (long long)gridDim.x * blockDim.x) {
    const Pointer begin = indptr[row];
    const double total = sum_row((int)(indptr[row + 1] - begin), begin, indices,
                                 [values](long long at) { return Values::load(values, at); },
                                 [p](int column) { return Read::load(p, column); });
    Write::store(next, row, damping * total + base_of(teleport, spread, lost));
  }
}

/// The same in ELLPACK: columns and values [width, n], padded with column −1.
template <typename Values, typename Read, typename Write>
__global__ void ell_thread(int n, int width, const int *__restrict__ columns,
                           const typename Values::Unit *__restrict__ values, const typename Read::Unit *__restrict__ p,
                           typename Write::Unit *__restrict__ next, double damping, double teleport, double spread,
                           const double *__restrict__ lost) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  const double total = sum_slots<4>(
      width, row, n, columns, [values](long long at) { return Values::read_once(values, at); },
      [p](int column) { return Read::load(p, column); });
  Write::store(next, row, damping * total + base_of(teleport, spread, lost));
}

/// What two parts of a vector have together: of L1 and of the squares of L2 the sum, of LINF the larger.
__device__ __forceinline__ double join(int norm, double size, double other) {
  return norm != LINF ? size + other : (other > size ? other : size);
}

/// One step of a reduction: what the blocks have of the sizes of `count` elements, the same in every run.
template <typename Size>
__device__ __forceinline__ void reduce(long long count, int norm, const Size &size, double *__restrict__ out) {
  __shared__ double warps[BLOCK / WARP];
  double own = 0.0;
  for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < count; i += (long long)gridDim.x * BLOCK)
    own = join(norm, own, size(i));
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    own = join(norm, own, __shfl_down_sync(FULL_WARP, own, offset));
  if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < BLOCK / WARP; ++warp)
    own = join(norm, own, warps[warp]);
  out[blockIdx.x] = own;
}

/// First step of the norm of next − p, without the root of L2.
template <typename Read, typename Write>
__global__ void __launch_bounds__(BLOCK)
    norm_of_change(long long n, const typename Read::Unit *__restrict__ p,
                   const typename Write::Unit *__restrict__ next, int norm, double *__restrict__ parts) {
  reduce(
      n, norm,
      [p, next, norm](long long i) {
        const double change = Write::load(next, i) - Read::load(p, i), size = change < 0.0 ? -change : change;
        return norm == L2 ? size * size : size;
      },
      parts);
}

/// First step of Σ p over the pages of a list.
template <typename Ranks>
__global__ void __launch_bounds__(BLOCK)
    norm_of_selected(long long count, const int *__restrict__ pages, const typename Ranks::Unit *__restrict__ p,
                     double *__restrict__ parts) {
  reduce(count, L1, [pages, p](long long i) { return Ranks::load(p, pages[i]); }, parts);
}

/// First step of ‖p‖₁; ranks are not negative.
template <typename Ranks>
__global__ void __launch_bounds__(BLOCK)
    norm_of_ranks(long long n, const typename Ranks::Unit *__restrict__ p, double *__restrict__ parts) {
  reduce(n, L1, [p](long long i) { return Ranks::load(p, i); }, parts);
}

/// Second step of any of them, one block.
__global__ void __launch_bounds__(BLOCK)
    join_blocks(long long count, const double *__restrict__ parts, int norm, double *__restrict__ out) {
  reduce(count, norm, [parts](long long i) { return parts[i]; }, out);
}

/// p := p / ‖p‖₁, in place, in the first K segments that it is stored in.
template <int SEGMENTS, int K, typename Code>
__global__ void scale_ranks(int n, Unit<SEGMENTS> *p, const double *__restrict__ norm) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || *norm <= 0.0) return;
  // What this kernel writes may not be read as what no kernel writes.
  const double rank = join_segments<SEGMENTS, K, Code>(p, row, [](const Unit<SEGMENTS> *unit) { return *unit; });
  store_segments<SEGMENTS, K, Code>(p, row, rank * (1.0 / *norm));
}
