// CUDA on a CPU for tests: a fiber per thread of a block, one block after the other; barriers switch fibers.
// The kernels of a source are compiled behind this text. Only what the tested kernels use is here.
#include <cstdlib>
#include <cstring>
#include <functional>
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

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct Barrier {
  int threads = 0, waiting = 0, passed = 0;
};

struct Fiber {
  ucontext_t context;
  char *stack;
  bool ended;
  Index index;
  Barrier *warp;
};

constexpr int STACK = 1 << 16, WARP_SIZE = 32;
static Index block_index, block_size, grid_size;
static ucontext_t scheduler;
static Barrier block_barrier;
static Fiber *current;
static std::function<void()> *kernel;
static std::vector<Fiber> fibers;
static std::vector<Barrier> warps;
static std::vector<double> exchanged;
static double dynamic_shared[1 << 14];

static void switch_fiber() {
  swapcontext(&current->context, &scheduler);
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
    fiber.ended = false, fiber.index.x = number, fiber.warp = &warps[number / WARP_SIZE];
    ++fiber.warp->threads;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack, fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (int left = threads; left > 0;)
    for (Fiber &fiber : fibers)
      if (!fiber.ended) {
        current = &fiber;
        swapcontext(&scheduler, &fiber.context);
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
  exchanged.assign(threads, 0.0);
  for (block_index.x = 0; (int)block_index.x < blocks; ++block_index.x)
    run_block(threads);
}

static void __syncthreads() {
  wait_at(block_barrier);
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

template <typename... A, std::size_t... I>
void call(void (*function)(A...), void **arguments, std::index_sequence<I...>) {
  function(*(A *)arguments[I]...);
}

template <typename... A> void run(void (*function)(A...), int blocks, int threads, void **arguments) {
  launch(blocks, threads, [=] { call(function, arguments, std::index_sequence_for<A...>()); });
}
