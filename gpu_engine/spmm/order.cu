#include "common.cuh"

constexpr int ORDER_BLOCK = 256, TILE_ELEMENTS = 1024;

/// out := in, from column major (in[j·ldi + i]) to row major (out[i·ldo + j]); a block moves a tile of `rows` rows and
/// at most `columns` columns, where rows · columns = TILE_ELEMENTS, so that neighboring threads load and store
/// neighbors.
__global__ void __launch_bounds__(ORDER_BLOCK)
    to_rows(long long n, int k, int rows, int columns, const double *__restrict__ in, long long ldi,
            double *__restrict__ out, long long ldo) {
  __shared__ double tile[TILE_ELEMENTS + 32];
  const long long first = (long long)blockIdx.x * rows;
  const int begin = blockIdx.y * columns, width = min(columns, k - begin),
            height = (int)min((long long)rows, n - first);
  for (int t = threadIdx.x; t < width * rows; t += ORDER_BLOCK) {
    const int j = t / rows, i = t % rows;
    if (i < height) tile[j * (rows + 1) + i] = in[(begin + j) * ldi + first + i];
  }
  __syncthreads();
  for (int t = threadIdx.x; t < height * width; t += ORDER_BLOCK) {
    const int i = t / width, j = t % width;
    out[(first + i) * ldo + begin + j] = tile[j * (rows + 1) + i];
  }
}

/// out := in + β·out, from row major (in[i·ldi + j]) to column major (out[j·ldo + i]); β = 0 does not read out.
__global__ void __launch_bounds__(ORDER_BLOCK)
    to_columns(long long n, int k, int rows, int columns, const double *__restrict__ in, long long ldi, double beta,
               double *__restrict__ out, long long ldo) {
  __shared__ double tile[TILE_ELEMENTS + 32];
  const long long first = (long long)blockIdx.x * rows;
  const int begin = blockIdx.y * columns, width = min(columns, k - begin),
            height = (int)min((long long)rows, n - first);
  for (int t = threadIdx.x; t < height * width; t += ORDER_BLOCK) {
    const int i = t / width, j = t % width;
    tile[j * (rows + 1) + i] = in[(first + i) * ldi + begin + j];
  }
  __syncthreads();
  for (int t = threadIdx.x; t < width * rows; t += ORDER_BLOCK) {
    const int j = t / rows, i = t % rows;
    if (i >= height) continue;
    double *const to = out + (begin + j) * ldo + first + i;
    *to = beta == 0.0 ? tile[j * (rows + 1) + i] : tile[j * (rows + 1) + i] + beta * *to;
  }
}
