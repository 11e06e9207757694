#include "common.cuh"

/// y += A·x for entries in any order of their rows, a thread an entry.
__global__ void add_entries(long long nnz, const int *__restrict__ rows, const int *__restrict__ columns,
                            const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const long long entry = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry < nnz) atomicAdd(y + stream(rows + entry), stream(values + entry) * __ldg(x + stream(columns + entry)));
}

/// total[lines] += more, for lines that are all different, or total += more without them.
__global__ void add_lines(long long count, const int *__restrict__ lines, const double *__restrict__ more,
                          double *__restrict__ total) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) total[lines ? stream(lines + i) : i] += stream(more + i);
}

/// packed[i] := vector[positions[i]].
__global__ void gather(long long count, const int *__restrict__ positions, const double *__restrict__ vector,
                       double *__restrict__ packed) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) packed[i] = vector[stream(positions + i)];
}

/// to := from, which may lie on a peer, a word a thread.
template <typename Word> __global__ void copy_words(long long count, const Word *from, Word *to) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

/// local := raw, clamped to low … high and counted from `base`, PACK elements a thread; both may be the same array.
template <typename Line, int PACK>
__global__ void rewrite_lines(long long count, const Line *raw, Line low, Line high, Line base, Line *local) {
  struct alignas(sizeof(Line) * PACK) Pack {
    Line lines[PACK];
  };
  const long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * PACK;
  const auto rewritten = [=](Line line) { return (line < low ? low : line > high ? high : line) - base; };
  if (first + PACK <= count) {
    Pack pack = *reinterpret_cast<const Pack *>(raw + first);
#pragma unroll
    for (int i = 0; i < PACK; ++i)
      pack.lines[i] = rewritten(pack.lines[i]);
    *reinterpret_cast<Pack *>(local + first) = pack;
  } else {
    for (long long i = first; i < count; ++i)
      local[i] = rewritten(raw[i]);
  }
}
