/// y[row] = Σ values·x over all slots, or that and y[row] where it ADDS; one thread a row. Arrays are [width, n_rows],
/// a padded slot has column −1.
template <bool ADDS>
__global__ void ell_thread(int n_rows, int width, const int *__restrict__ columns, const double *__restrict__ values,
                           const double *__restrict__ x, double *__restrict__ y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  double total = 0.0;
  for (int slot = 0; slot < width; ++slot) {
    const long long place = (long long)slot * n_rows + row;
    const int column = __ldcs(columns + place);
    if (column >= 0) total += __ldcs(values + place) * __ldg(x + column);
  }
  y[row] = ADDS ? y[row] + total : total;
}
