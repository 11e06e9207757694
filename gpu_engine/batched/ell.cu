#include "batch.cuh"

/// y[row] := A·x over all slots of the problem, one thread a row; a padded slot has column −1.
template <bool ADDS, bool EVERY>
__global__ void __launch_bounds__(1024)
    batched_thread(int room, const long long *__restrict__ rows, const long long *__restrict__ cols,
                   const long long *__restrict__ offsets, const int *__restrict__ columns,
                   const double *__restrict__ values, const double *__restrict__ x, double *__restrict__ y) {
  const int problem = blockIdx.x;
  const int n_rows = (int)(rows[problem + 1] - rows[problem]), n_cols = (int)(cols[problem + 1] - cols[problem]);
  double *sums = y + rows[problem];
  const long long end = offsets[problem + 1];
  stage<EVERY>(x + cols[problem], n_cols, room, [&](const auto &mine) {
    for (int row = threadIdx.x; row < n_rows; row += blockDim.x) {
      double total = 0.0;
      for (long long slot = offsets[problem] + row; slot < end; slot += n_rows) {
        const int column = stream(columns + slot);
        if (column >= 0) total += stream(values + slot) * mine(column);
      }
      sums[row] = ADDS ? sums[row] + total : total;
    }
  });
}
