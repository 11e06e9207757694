#include "settle.cuh"

__global__ void __launch_bounds__(BLOCK)
    next_iteration(int n, double damping, double spread, int norm, int raised, State *__restrict__ state,
                   unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost,
                   unsigned long long *__restrict__ masses) {
  settle(n, damping, spread, norm, raised, state, changes, lost, masses);
}
