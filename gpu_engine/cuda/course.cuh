#pragma once

/// How a run in segments that ends by itself has gone so far.
struct Course {
  long long iterations;
  long long late;       // iterations after which it should have gone on otherwise, had it looked
  long long written[4]; // iterations that wrote 1, 2 … segments
  double earlier;       // γ before that of the iteration before
};

enum Next { STAY, RAISE, END };

/// The rule of gpu_engine/pagerank/schedule.py for iterations that read the same segments: `near` is a γ, `stall` a
/// factor; at full precision negative and infinite.
struct Rule {
  double epsilon, near, stall;
  int iterations_max;
};

/// What comes after an iteration; γ has not seen what `moved` the ranks after it. `before` is infinite where there is
/// no γ to compare with: in the first iteration, in one that raised the precision, and in the one after it.
__device__ __forceinline__ Next next_of(const Rule &rule, long long iterations, double gamma, double before,
                                        bool moved) {
  const bool raises = gamma <= rule.near || gamma > rule.stall * before;
  if (iterations >= rule.iterations_max || (gamma < rule.epsilon && !raises && !moved)) return END;
  return raises ? RAISE : STAY;
}

/// Iterations until γ is `until`, at most `most`: γ goes on falling a little faster than in the last iteration, and if
/// it fell less in the one before, faster and faster. One, where it hardly falls.
__device__ __forceinline__ int needed_for(double until, double stall, int most, double gamma, double before,
                                          double earlier) {
  constexpr double HARDLY = 0.95, FASTER = 1.1;
  if (!(gamma < before) || gamma > HARDLY * stall * before) return 1;
  const double last = log(gamma / before), change = earlier > 0.0 ? last - log(before / earlier) : 0.0;
  double fall = FASTER * last, left = log(until / gamma);
  int needed = 0;
  while (left < 0.0 && needed < most)
    fall += change < 0.0 ? change : 0.0, left -= fall, ++needed;
  return needed > 1 ? needed : 1;
}
