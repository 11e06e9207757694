#include "settle.cuh"

/// Sets the condition of a node of the CUDA graph that this kernel is part of.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

/// What next_iteration does after the last of `made` iterations, then whether and how the run goes on. γ falls by about
/// the same factor in every iteration, so it tells how many are still needed: whether LONG more, SHORT ones, one of a
/// pair, or the second of the pair; a condition of 0 is none.
template <int LONG, int SHORT>
__global__ void __launch_bounds__(BLOCK)
    next_or_end(int n, double damping, double spread, int norm, State *__restrict__ state,
                unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost,
                unsigned long long *__restrict__ masses, double epsilon, int iterations_max, int made,
                int *__restrict__ iterations, unsigned long long many, unsigned long long some, unsigned long long pair,
                unsigned long long second) {
  const double before = state->gamma;
  __syncthreads();
  settle(n, damping, spread, norm, 0, state, changes, lost, masses);
  if (threadIdx.x != 0) return;
  const double gamma = state->gamma;
  const int total = *iterations + made;
  *iterations = total;
  const int allowed = iterations_max - total;
  int needed = 0;
  if (!(gamma < epsilon))
    needed = gamma < before ? (int)fmin(ceil(log(epsilon / gamma) / log(gamma / before)), 1e6) : 1;
  if (!(gamma < epsilon) && needed < 1) needed = 1;
  needed = needed < allowed ? needed : allowed;
  if (many) cudaGraphSetConditional(many, needed >= LONG + 1);
  if (some) cudaGraphSetConditional(some, needed >= SHORT + 1);
  if (pair) cudaGraphSetConditional(pair, needed >= 1);
  if (second) cudaGraphSetConditional(second, needed >= 1);
}
