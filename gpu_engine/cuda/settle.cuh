#pragma once
#include "ranks.cuh"

/// As join_sizes, over a block.
__device__ __forceinline__ double join_block(int norm, double size) {
  __shared__ double warps[BLOCK / WARP];
  size = join_sizes(norm, size);
  if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = size;
  __syncthreads();
  return join_sizes(norm, threadIdx.x < BLOCK / WARP ? warps[threadIdx.x] : 0.0);
}

/// Between two iterations, one block: γ, the base of the next one and, after one that `raised` the precision, the
/// factor that makes the sum of the ranks 1, from the slots, which it empties.
__device__ __forceinline__ void settle(int n, double damping, double spread, int norm, int raised,
                                       State *__restrict__ state, unsigned long long *__restrict__ changes,
                                       unsigned long long *__restrict__ lost, unsigned long long *__restrict__ masses) {
  unsigned long long hanging = 0, units = 0, mass = 0;
  double size = 0.0;
#pragma unroll
  for (int item = 0; item < SLOTS / BLOCK; ++item) {
    const int slot = item * BLOCK + threadIdx.x;
    const unsigned long long change = changes[slot];
    const double other = __longlong_as_double((long long)change);
    hanging += lost[slot], units += change;
    size = norm == L2 ? size + other : (other > size ? other : size);
    lost[slot] = changes[slot] = 0;
    if (raised) mass += masses[slot], masses[slot] = 0;
  }
  hanging = sum_block(hanging), units = sum_block(units), mass = sum_block(mass), size = join_block(norm, size);
  if (threadIdx.x != 0) return;
  const double factor = mass ? UNITS_OF_ONE / mass : 1.0;
  state->gamma = norm == L1 ? units / UNITS_OF_ONE : (norm == L2 ? sqrt(size) : size);
  state->factor = factor;
  state->base = (1.0 - damping + spread * factor * (hanging / UNITS_OF_ONE)) / n;
}
