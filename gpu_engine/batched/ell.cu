#include "batch.cuh"

/// Slots of a row in flight. With four the compiler runs out of the registers of two blocks of 1,024 threads and takes
/// one slot after the other again.
constexpr int AHEAD = 3;

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
      const long long step = n_rows;
      long long slot = offsets[problem] + row;
      for (; slot + (AHEAD - 1) * step < end; slot += AHEAD * step) {
        int column[AHEAD];
        double value[AHEAD];
#pragma unroll
        for (int item = 0; item < AHEAD; ++item)
          column[item] = stream(columns + slot + item * step);
#pragma unroll
        for (int item = 0; item < AHEAD; ++item)
          value[item] = column[item] >= 0 ? stream(values + slot + item * step) : 0.0;
#pragma unroll
        for (int item = 0; item < AHEAD; ++item)
          if (column[item] >= 0) total += value[item] * mine(column[item]);
      }
      for (; slot < end; slot += step) {
        const int column = stream(columns + slot);
        if (column >= 0) total += stream(values + slot) * mine(column);
      }
      sums[row] = ADDS ? sums[row] + total : total;
    }
  });
}
