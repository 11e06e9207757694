// CUDA on a CPU for tests: a fiber per thread of a block, one block after the other; barriers switch fibers.
// The kernels of a source are compiled behind this text. Only what the tested kernels use is here.
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static
#define threadIdx (current->index)
#define blockIdx block_index
#define blockDim block_size
#define gridDim grid_size

using std::fabs;
using std::fma;
using std::fmax;
using std::fmin;
using std::isfinite;
using std::sqrt;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct double2 {
  double x, y;
};

struct Barrier {
  int threads = 0, waiting = 0, passed = 0;
};

struct Fiber {
  ucontext_t context; // where it starts
  jmp_buf place;      // where it waits: to jump there is faster than to swap contexts
  char *stack;
  bool started, ended;
  Index index;
  Barrier *warp;
};

constexpr int STACK = 1 << 16, WARP_SIZE = 32;
static Index block_index, block_size, grid_size;
static jmp_buf scheduler;
static Barrier block_barrier;
static Fiber *current;
static std::function<void()> *kernel;
static std::vector<Fiber> fibers;
static std::vector<Barrier> warps;
static std::vector<double> exchanged;
static std::vector<int> votes;
static unsigned *conditions; // of CUDA graphs, shared by all libraries
static double dynamic_shared[1 << 14];

static void switch_fiber() {
  if (!_setjmp(current->place)) _longjmp(scheduler, 1);
}

static void resume(Fiber &fiber) {
  current = &fiber;
  if (_setjmp(scheduler)) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  setcontext(&fiber.context);
}

static void wait_at(Barrier &barrier) {
  const int before = barrier.passed;
  if (++barrier.waiting >= barrier.threads)
    barrier.waiting = 0, ++barrier.passed;
  else
    while (barrier.passed == before)
      switch_fiber();
}

// A thread that has ended is not waited for.
static void leave(Barrier &barrier) {
  --barrier.threads;
  if (barrier.threads > 0 && barrier.waiting >= barrier.threads) barrier.waiting = 0, ++barrier.passed;
}

static void run_fiber() {
  (*kernel)();
  current->ended = true;
  leave(*current->warp);
  leave(block_barrier);
  for (;;)
    switch_fiber();
}

static void run_block(int threads) {
  block_barrier = {threads};
  warps.assign((threads + WARP_SIZE - 1) / WARP_SIZE, {});
  for (int number = 0; number < threads; ++number) {
    Fiber &fiber = fibers[number];
    fiber.started = fiber.ended = false, fiber.index.x = number, fiber.warp = &warps[number / WARP_SIZE];
    ++fiber.warp->threads;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack, fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (int left = threads; left > 0;)
    for (Fiber &fiber : fibers)
      if (!fiber.ended) {
        resume(fiber);
        left -= fiber.ended;
      }
}

static void launch(int blocks, int threads, std::function<void()> body) {
  kernel = &body, block_size.x = threads, grid_size.x = blocks;
  for (Fiber &fiber : fibers)
    free(fiber.stack);
  fibers.assign(threads, {});
  for (Fiber &fiber : fibers)
    fiber.stack = (char *)malloc(STACK);
  exchanged.assign(threads, 0.0), votes.assign(threads, 0);
  for (block_index.x = 0; (int)block_index.x < blocks; ++block_index.x)
    run_block(threads);
}

static void __syncthreads() {
  wait_at(block_barrier);
}

static int __syncthreads_or(int vote) {
  votes[threadIdx.x] = vote;
  wait_at(block_barrier);
  int any = 0;
  for (int each : votes)
    any |= each != 0;
  wait_at(block_barrier);
  return any;
}

template <typename T> T from_lane(T value, int lane) {
  const int number = threadIdx.x, first = number / WARP_SIZE * WARP_SIZE;
  std::memcpy(&exchanged[number], &value, sizeof value);
  wait_at(*current->warp);
  std::memcpy(&value, &exchanged[first + lane % WARP_SIZE], sizeof value);
  wait_at(*current->warp);
  return value;
}

template <typename T> T __shfl_down_sync(unsigned, T value, int by, int width = WARP_SIZE) {
  const int lane = threadIdx.x % WARP_SIZE;
  return from_lane(value, lane % width + by < width ? lane + by : lane);
}

template <typename T> T __shfl_up_sync(unsigned, T value, int by, int width = WARP_SIZE) {
  const int lane = threadIdx.x % WARP_SIZE;
  return from_lane(value, lane % width >= by ? lane - by : lane);
}

template <typename T> T __shfl_xor_sync(unsigned, T value, int with) {
  return from_lane(value, (threadIdx.x % WARP_SIZE) ^ with);
}

template <typename T> T __shfl_sync(unsigned, T value, int lane) {
  return from_lane(value, lane);
}

static unsigned __ballot_sync(unsigned, bool predicate) {
  unsigned ballot = 0;
  for (int lane = 0; lane < WARP_SIZE; ++lane)
    ballot |= (unsigned)from_lane(predicate, lane) << lane;
  return ballot;
}

static int __ffs(unsigned bits) {
  return __builtin_ffs((int)bits);
}

template <typename T> T __ldg(const T *address) {
  return *address;
}

template <typename T> T __ldcs(const T *address) {
  return *address;
}

template <typename T> void __stcs(T *address, T value) {
  *address = value;
}

static double atomicAdd(double *address, double value) {
  const double before = *address;
  *address += value;
  return before;
}

static double __dadd_rn(double a, double b) {
  return a + b;
}

static double __dsub_rn(double a, double b) {
  return a - b;
}

static double __dmul_rn(double a, double b) {
  return a * b;
}

static double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}

static double rsqrt(double a) {
  return 1.0 / sqrt(a);
}

template <typename A, typename B> auto min(A a, B b) {
  return a < b ? a : b;
}

extern "C" void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
  conditions[handle] = value;
}

extern "C" void share(unsigned *shared) {
  conditions = shared;
}

template <typename... A, std::size_t... I>
void call(void (*function)(A...), void **arguments, std::index_sequence<I...>) {
  function(*(std::remove_cv_t<A> *)arguments[I]...);
}

template <typename... A> void run(void (*function)(A...), int blocks, int threads, void **arguments) {
  launch(blocks, threads, [=] { call(function, arguments, std::index_sequence_for<A...>()); });
}
