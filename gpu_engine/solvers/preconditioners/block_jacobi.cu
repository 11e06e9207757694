/// out := M·v, M block diagonal: row i of block b is inverse[(b·size + i)·size …]. One thread per row.
__global__ void __launch_bounds__(256) block_jacobi(int n, int size, const double *__restrict__ inverse,
                                                    const double *__restrict__ v, double *__restrict__ out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  const int first = row / size * size, last = first + size < n ? first + size : n;
  double total = 0.0;
  // Column by column, so that neighboring threads read neighboring numbers: a block lies transposed.
  const double *numbers = inverse + (long long)first * size + (row - first);
  for (int column = first; column < last; ++column, numbers += size)
    total += __ldg(numbers) * __ldg(v + column);
  out[row] = total;
}
