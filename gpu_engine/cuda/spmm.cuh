#pragma once
#include "common.cuh"

constexpr int SPMM_BLOCK = 256;

/// Place of a lane: its group, the first of its V columns, and which part of the nonzeros it adds up. A group has
/// split · width lanes, neighbors along the columns.
template <int V> struct Lane {
  long long group;
  int column, part;
  bool is_active, writes;

  __device__ __forceinline__ Lane(int k, int width, int split) {
    const int size = width * split, thread = threadIdx.x;
    group = (long long)blockIdx.x * (SPMM_BLOCK / size) + thread / size;
    column = (blockIdx.y * width + thread % width) * V;
    part = thread % size / width;
    is_active = column < k;
    writes = is_active && part == 0;
  }
};

/// Loads V neighboring elements, each two of which are aligned.
template <int V> __device__ __forceinline__ void load(const double *__restrict__ from, double (&to)[V]) {
  if (V == 1)
    to[0] = *from;
  else
#pragma unroll
    for (int v = 0; v < V; v += 2) {
      const double2 pair = *reinterpret_cast<const double2 *>(from + v);
      to[v] = pair.x;
      to[(v + 1) % V] = pair.y;
    }
}

/// Columns and values of CSR.
struct CsrEntries {
  const int *__restrict__ indices;
  const double *__restrict__ values;

  __device__ __forceinline__ long long column(long long entry) const { return stream(indices + entry); }
  __device__ __forceinline__ double value(long long entry) const { return stream(values + entry); }
};

/// V neighboring columns of a row of A·X.
template <int V> struct Columns {
  double sum[V] = {};

  /// Adds the nonzeros begin, begin + step, … below end; x points to the first of the columns in row 0 of X.
  template <typename Pointer, typename Entries>
  __device__ __forceinline__ void add(Pointer begin, Pointer end, int step, const Entries &entries,
                                      const double *__restrict__ x, long long ldx) {
#pragma unroll 4
    for (Pointer entry = begin; entry < end; entry += step) {
      double factor[V];
      load<V>(x + entries.column(entry) * ldx, factor);
      add(entries.value(entry), factor);
    }
  }

  /// Adds value · factor.
  __device__ __forceinline__ void add(double value, const double (&factor)[V]) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      sum[v] += value * factor[v];
  }

  /// Adds up the parts of a group in a fixed order; its first `width` lanes hold the sums. All lanes of the warp call
  /// it.
  __device__ __forceinline__ void join(int width, int split) {
    for (int offset = width * split / 2; offset >= width; offset /= 2)
#pragma unroll
      for (int v = 0; v < V; ++v)
        sum[v] += __shfl_down_sync(FULL_WARP, sum[v], offset);
  }

  /// y := α·sum + β·y. With α = 0 or β = 0, the sum or y counts as 0, even if it is not a number.
  __device__ __forceinline__ void write(double alpha, double beta, double *__restrict__ y) const {
    double out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      out[v] = alpha == 0.0 ? 0.0 : alpha * sum[v];
      if (beta != 0.0) out[v] += beta * y[v];
    }
    if (V == 1)
      __stcs(y, out[0]);
    else
#pragma unroll
      for (int v = 0; v < V; v += 2)
        __stcs(reinterpret_cast<double2 *>(y + v), make_double2(out[v], out[(v + 1) % V]));
  }
};

/// Writes the sums of a segment to its row of Y, or to `sums` [·, k] if the row is cut; see gpu_engine/spmm/cuts.py.
template <int V>
__device__ __forceinline__ void write_segment(const Lane<V> &lane, const Columns<V> &total, int target, int k,
                                              double alpha, double beta, double *__restrict__ y, long long ldy,
                                              double *__restrict__ sums) {
  if (target >= 0)
    total.write(alpha, beta, y + target * ldy + lane.column);
  else
    total.write(1.0, 0.0, sums + (long long)~target * k + lane.column);
}
