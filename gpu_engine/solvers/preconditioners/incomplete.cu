/// Position of the first entry in [low, high) whose column is not smaller.
template <typename Pointer>
__device__ __forceinline__ Pointer find(Pointer low, Pointer high, int column, const int *__restrict__ indices) {
  while (low < high) {
    const Pointer middle = low + (high - low) / 2;
    if (__ldg(indices + middle) < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// One sweep over the nonzeros (i, j) of A: l_ij = (a_ij − Σ l_ik·u_kj) / u_jj below the diagonal, u_ij = a_ij − Σ
/// l_ik·u_kj elsewhere, k < min(i, j), with the factors of the sweep before.
template <typename Pointer>
__global__ void __launch_bounds__(256)
    sweep_factors(long long nnz, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                  const int *__restrict__ row_of, const Pointer *__restrict__ diagonal,
                  const double *__restrict__ values, const double *__restrict__ before, double *__restrict__ after) {
  const long long entry = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry >= nnz) return;
  const int row = row_of[entry], column = indices[entry];
  double rest = values[entry];
  for (Pointer left = indptr[row]; left < indptr[row + 1]; ++left) {
    const int k = __ldg(indices + left);
    if (k >= row || k >= column) break;
    const Pointer end = __ldg(indptr + k + 1), above = find(__ldg(diagonal + k), end, column, indices);
    if (above < end && __ldg(indices + above) == column) rest -= __ldg(before + left) * __ldg(before + above);
  }
  after[entry] = column < row ? rest / __ldg(before + diagonal[column]) : rest;
}

/// One Jacobi sweep of a triangular system: out := v − L·y, or out := (v − U·y) / diagonal where UPPER; LANES threads
/// per row.
template <typename Pointer, int LANES, bool UPPER>
__global__ void __launch_bounds__(256)
    sweep_solve(int n, const Pointer *__restrict__ indptr, const int *__restrict__ indices,
                const Pointer *__restrict__ diagonal, const double *__restrict__ factors, const double *__restrict__ v,
                const double *__restrict__ y, double *__restrict__ out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  double total = 0.0;
  Pointer middle = 0;
  if (row < n) {
    middle = diagonal[row];
    const Pointer end = UPPER ? indptr[row + 1] : middle;
    for (Pointer entry = (UPPER ? middle + 1 : indptr[row]) + lane; entry < end; entry += LANES)
      total += factors[entry] * __ldg(y + indices[entry]);
  }
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2)
    total += __shfl_down_sync(0xffffffffu, total, offset, LANES);
  if (row < n && lane == 0) out[row] = UPPER ? (v[row] - total) / factors[middle] : v[row] - total;
}
