#include "tiles.cuh"

/// Slots of a slice in flight: 6 · 320 bytes in each of forty warps are 77 KB, three times what the latency of memory
/// asks for, since warps also wait for x and for each other. More slots or warps spill registers.
constexpr int AHEAD = 6;

/// Blocks of a multiprocessor.
constexpr int resident(int threads, int column_bytes) {
  return (column_bytes == 2 ? 1280 : 1024) / threads;
}

/// Starts to copy one element into shared memory, without a register to wait for.
__device__ __forceinline__ void copy_async(double *to, const double *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

/// Waits for the copies that this thread started.
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// The parts of x that a block needs, `step` elements apart: in shared memory, or in global memory if too long for it.
struct Near {
  const double *window;
  int step;
  __device__ __forceinline__ double operator()(int column, int vector) const { return window[vector * step + column]; }
};

struct Far {
  const double *__restrict__ window;
  int step;
  __device__ __forceinline__ double operator()(int column, int vector) const {
    return __ldg(window + (long long)vector * step + column);
  }
};

/// How columns and values are loaded: once, past the caches, or again by other blocks.
struct Once {
  template <typename T> __device__ __forceinline__ static T load(const T *address) { return stream(address); }
};

struct Again {
  template <typename T> __device__ __forceinline__ static T load(const T *address) { return __ldg(address); }
};

/// A slice as gpu_engine/batched/sliced.py packs it: rows of 1 << shift lanes each, from a place of the group on.
struct Slice {
  int slot, slots, shape;

  __device__ __forceinline__ static Slice take(const int2 *__restrict__ headers, int number, int end) {
    if (number >= end) return {0, 0, 0};
    const int2 header = __ldg(headers + number);
    return {header.x, __ldg(&headers[number + 1].x) - header.x, header.y};
  }
  __device__ __forceinline__ int place() const { return shape & 0xffff; }
  __device__ __forceinline__ int shift() const { return shape >> 16 & 7; }
  /// Whether this lane of the warp has a row.
  __device__ __forceinline__ bool holds(int lane) const { return lane < shape >> 19 << shift(); }
};

/// AHEAD slots of one lane, from `slot` of the slice to before `end`.
template <typename Loads, typename Column> struct Entries {
  int columns[AHEAD];
  double factors[AHEAD];

  __device__ __forceinline__ void load(const Slice &slice, int slot, int end, const Column *__restrict__ from_columns,
                                       const double *__restrict__ from_values) {
    const long long begin = (long long)(slice.slot + slot) * WARP + threadIdx.x % WARP;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      columns[item] = slot + item < end ? Loads::load(from_columns + begin + item * WARP) : 0;
#pragma unroll
    for (int item = 0; item < AHEAD; ++item)
      factors[item] = slot + item < end ? Loads::load(from_values + begin + item * WARP) : 0.0;
  }

  /// The first slots, what is padded too: the lengths of the rows have not arrived yet.
  __device__ __forceinline__ void begin(const Slice &slice, const Column *__restrict__ from_columns,
                                        const double *__restrict__ from_values) {
    load(slice, 0, slice.holds(threadIdx.x % WARP) ? slice.slots : 0, from_columns, from_values);
  }
};

/// Σ values·x of every row of a group into sums[row], and those with further vectors `rows` elements on each; a warp a
/// slice. Waits for the block's copies after the first loads. A row's word: its number in the group, and above bit 16
/// the entries that it lacks of its slice.
template <int THREADS, int VECTORS, bool ADDS, typename Loads, typename Column, typename Gather>
__device__ __forceinline__ void multiply_group(int first, int end, const int2 *__restrict__ headers,
                                               const unsigned *__restrict__ words, const Column *__restrict__ columns,
                                               const double *__restrict__ values, const Gather &gather, double *sums,
                                               int rows) {
  constexpr int WARPS = THREADS / WARP;
  const int lane = threadIdx.x % WARP;
  int number = first + threadIdx.x / WARP;
  Slice slice = Slice::take(headers, number, end);
  Entries<Loads, Column> entries;
  entries.begin(slice, columns, values);
  await_copies();
  __syncthreads();
  while (number < end) {
    const bool inside = slice.holds(lane);
    const int shift = slice.shift();
    const int part = lane & ((1 << shift) - 1);
    const unsigned word = inside ? __ldg(words + slice.place() + (lane >> shift)) : 0;
    const Slice next = Slice::take(headers, number + WARPS, end);
    const int length = (slice.slots << shift) - (int)(word >> 16);
    const int own = inside ? (length - part + (1 << shift) - 1) >> shift : 0;
    double totals[VECTORS] = {};
    for (int slot = 0;;) {
#pragma unroll
      for (int item = 0; item < AHEAD; ++item)
        if (slot + item < own) {
#pragma unroll
          for (int vector = 0; vector < VECTORS; ++vector)
            totals[vector] += entries.factors[item] * gather(entries.columns[item], vector);
        }
      slot += AHEAD;
      if (slot >= slice.slots) break;
      entries.load(slice, slot, own, columns, values);
    }
    entries.begin(next, columns, values);
#pragma unroll
    for (int vector = 0; vector < VECTORS; ++vector) {
      const double total = sum_group(totals[vector], 1 << shift);
      if (inside && part == 0) {
        double &sum = sums[vector * rows + (word & 0xffff)];
        sum = ADDS ? sum + total : total;
      }
    }
    slice = next;
    number += WARPS;
  }
}

/// Rows, slices and window of x of a group.
struct Group {
  long long row, rows, slice, end, column, columns;
};

/// y := A·x, or y := A·x + y, a block a group. The block collects its part of y in shared memory, since its rows end
/// out of order, and beside it keeps its window of x where both fit into `shared_elements` elements.
template <int THREADS, bool ADDS, typename Column>
__global__ void __launch_bounds__(THREADS, resident(THREADS, sizeof(Column)))
    sliced(int shared_elements, const Group *__restrict__ groups, const int2 *__restrict__ headers,
           const unsigned *__restrict__ words, const Column *__restrict__ columns, const double *__restrict__ values,
           const double *__restrict__ x, double *__restrict__ y) {
  extern __shared__ double memory[];
  const Group group = groups[blockIdx.x];
  const long long row = group.row, column = group.column;
  const int first = (int)group.slice, end = (int)group.end;
  const int rows = (int)group.rows, width = (int)group.columns;
  double *sums = memory, *window = memory + rows;
  const bool near = rows + width <= shared_elements;
  if (near)
    for (int place = threadIdx.x; place < width; place += THREADS)
      copy_async(window + place, x + column + place);
  if (ADDS)
    for (int place = threadIdx.x; place < rows; place += THREADS)
      copy_async(sums + place, y + row + place);
  if (near)
    multiply_group<THREADS, 1, ADDS, Once>(first, end, headers, words + row, columns, values, Near{window, 0}, sums, 0);
  else
    multiply_group<THREADS, 1, ADDS, Once>(first, end, headers, words + row, columns, values, Far{x + column, 0}, sums,
                                           0);
  __syncthreads();
  for (int place = threadIdx.x; place < rows; place += THREADS)
    y[row + place] = sums[place];
}

constexpr int SHARED_THREADS = 128;

/// What a block multiplies where super-problems share: a group of `rows` rows and its slices, counted in those that are
/// stored; how many slots on its super-problem's columns and values lie; where its rows and window begin in y and x.
struct Task {
  long long row, rows, column, columns, slice, end, words, columns_on, values_on, super_problem, super_rows,
      super_columns;
};

/// y := A·x, or y := A·x + y, a block a task: of the super-problem itself and of the VECTORS − 1 after it, which are
/// the same but for their factors.
template <int VECTORS, bool ADDS, typename Column>
__global__ void __launch_bounds__(SHARED_THREADS, 896 / SHARED_THREADS)
    shared(int shared_elements, const Task *__restrict__ tasks, const int2 *__restrict__ headers,
           const unsigned *__restrict__ words, const Column *__restrict__ columns, const double *__restrict__ values,
           const double *__restrict__ factors, const double *__restrict__ x, double *__restrict__ y) {
  extern __shared__ double memory[];
  const Task task = tasks[blockIdx.x];
  const int rows = (int)task.rows, width = (int)task.columns;
  const bool near = VECTORS * (rows + width) <= shared_elements;
  double *sums = memory, *window = memory + VECTORS * rows;
  if (near)
#pragma unroll
    for (int vector = 0; vector < VECTORS; ++vector)
      for (int place = threadIdx.x; place < width; place += SHARED_THREADS)
        copy_async(window + vector * width + place, x + task.column + vector * task.super_columns + place);
  const auto multiply = [&](const auto &gather) {
    multiply_group<SHARED_THREADS, VECTORS, false, Again>((int)task.slice, (int)task.end, headers, words + task.words,
                                                          columns + task.columns_on * WARP,
                                                          values + task.values_on * WARP, gather, sums, rows);
  };
  if (near)
    multiply(Near{window, width});
  else
    multiply(Far{x + task.column, (int)task.super_columns});
  __syncthreads();
#pragma unroll
  for (int vector = 0; vector < VECTORS; ++vector) {
    const double factor = __ldg(factors + task.super_problem + vector);
    double *to = y + task.row + vector * task.super_rows;
    for (int place = threadIdx.x; place < rows; place += SHARED_THREADS)
      to[place] = ADDS ? to[place] + factor * sums[vector * rows + place] : factor * sums[vector * rows + place];
  }
}
