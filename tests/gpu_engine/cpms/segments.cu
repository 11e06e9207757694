#include "segments.cuh"

/// Every value cut to its first READ segments, loaded both ways.
template <int SEGMENTS, int READ, typename Code>
__global__ void read_segments(long long n, const Unit<SEGMENTS> *__restrict__ base, double *__restrict__ loaded,
                              double *__restrict__ streamed) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  loaded[i] = load_segments<SEGMENTS, READ, Code>(base, i);
  streamed[i] = stream_segments<SEGMENTS, READ, Code>(base, i);
}

/// Writes the first WRITTEN segments of every value; `stored` gets the values as these segments hold them.
template <int SEGMENTS, int WRITTEN, typename Code>
__global__ void write_segments(long long n, Unit<SEGMENTS> *__restrict__ base, const double *__restrict__ values,
                               double *__restrict__ stored) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) stored[i] = store_segments<SEGMENTS, WRITTEN, Code>(base, i, values[i]);
}
