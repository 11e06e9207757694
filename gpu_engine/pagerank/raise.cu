#include "course.cuh"
#include "settle.cuh"

/// Sets the condition of a node of the CUDA graph that this kernel is part of.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

/// What next_iteration does, then which nodes of the graph come next, if it is to `look`: those of LONG more
/// iterations, of SHORT ones, of one more with the same segments, which two conditions say, or of the change to one
/// more segment. A condition of 0 is none. `compares`: whether a γ that hardly falls raises the precision.
template <int LONG, int SHORT>
__global__ void __launch_bounds__(BLOCK)
    next_or_raise(int n, double damping, double spread, int norm, State *__restrict__ state,
                  unsigned long long *__restrict__ changes, unsigned long long *__restrict__ lost,
                  unsigned long long *__restrict__ masses, int raised, int written, double epsilon, double near,
                  double stall, int iterations_max, int compares, int moved, double until, Course *__restrict__ course,
                  int look, unsigned long long many, unsigned long long some, unsigned long long stay,
                  unsigned long long second, unsigned long long raise) {
  const double last = state->gamma;
  __syncthreads();
  settle(n, damping, spread, norm, raised, state, changes, lost, masses);
  if (threadIdx.x != 0) return;
  const double none = __longlong_as_double(0x7ff0000000000000LL);
  const double gamma = state->gamma, before = course->iterations ? last : none;
  const double earlier = course->earlier;
  const long long iterations = ++course->iterations;
  ++course->written[written - 1], course->earlier = last;
  const Next next = next_of({epsilon, near, stall, iterations_max}, iterations, gamma, compares ? before : none, moved);
  if (!look) {
    course->late += next != STAY;
    return;
  }
  const long long allowed = iterations_max - iterations, most = allowed < LONG + 1 ? allowed : LONG + 1;
  const int needed = next == STAY && many ? needed_for(until, stall, (int)most, gamma, before, earlier) : 0;
  if (many) cudaGraphSetConditional(many, needed >= LONG + 1);
  if (some) cudaGraphSetConditional(some, needed >= SHORT + 1);
  if (stay) cudaGraphSetConditional(stay, next == STAY);
  if (second) cudaGraphSetConditional(second, next == STAY);
  if (raise) cudaGraphSetConditional(raise, next == RAISE);
}
