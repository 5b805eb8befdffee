// Limiting the gradient's norm, and the update of the parameters.
#pragma once

#include "kernel.h"
#include "simd.h"

namespace ENTNET_ISA {

// Sum of squares, in pieces short enough for single precision.
static double sum_of_squares(const float* g, int64_t n) {
  constexpr int64_t PIECE = 4096;
  double total = 0.0;
  for (int64_t start = 0; start < n; start += PIECE) {
    const int64_t end = start + PIECE < n ? start + PIECE : n;
    vec sum = zero(), other = zero();
    int64_t i = start;
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
      const vec a = load_any(g + i), b = load_any(g + i + LANES);
      sum += a * a;
      other += b * b;
    }
    for (; i < end; i += LANES) {
      const vec a = end - i >= LANES ? load_any(g + i) : load_part(g + i, end - i);
      sum += a * a;
    }
    total += (double)hsum(sum + other);
  }
  return total;
}

struct AdamStep {
  vec take1, keep2, take2, root_correction, epsilon, step, scale;

  void apply(vec& p, vec g, vec& first, vec& second) const {
    g = g * scale;
    first = first + take1 * (g - first);
    second = second * keep2 + take2 * g * g;
    p = p - step * first * reciprocal(vsqrt(second) * root_correction + epsilon);
  }
};


// Adam as torch.optim.Adam does it; `scale` is what clipping multiplies gradients with.
static void adam(float* p, const EntnetUpdate& u, int64_t n, float scale) {
  const double correction1 = 1.0 - pow(u.beta1, (double)u.count);
  const double correction2 = 1.0 - pow(u.beta2, (double)u.count);
  const AdamStep step{
                      splat((float)(1.0 - u.beta1)),
                      splat((float)u.beta2),
                      splat((float)(1.0 - u.beta2)),
                      splat((float)(1.0 / sqrt(correction2))),
                      splat((float)u.epsilon),
                      splat((float)(u.rate / correction1)),
                      splat(scale)};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    vec value = load_any(p + i), first = load_any(u.first + i), second = load_any(u.second + i);
    step.apply(value, load_any(u.gradients + i), first, second);
    store_any(p + i, value);
    store_any(u.first + i, first);
    store_any(u.second + i, second);
  }
  const int64_t rest = n - i;
  if (rest == 0) return;
  vec value = load_part(p + i, rest), first = load_part(u.first + i, rest);
  vec second = load_part(u.second + i, rest);
  step.apply(value, load_part(u.gradients + i, rest), first, second);
  store_part(p + i, value, rest);
  store_part(u.first + i, first, rest);
  store_part(u.second + i, second, rest);
}

static void descend(float* p, const float* g, int64_t n, float rate) {
  const vec factor = splat(rate);
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store_any(p + i, load_any(p + i) - factor * load_any(g + i));
  if (i < n) store_part(p + i, load_part(p + i, n - i) - factor * load_part(g + i, n - i), n - i);
}

// Gradients of the embedding are zero but in the touched rows, and looked at only there where that pays.
struct Touched {
  const int64_t* rows;
  int64_t count;
};

static double update(const EntnetModel& model, const EntnetUpdate& u, Touched touched) {
  const int64_t d = model.width, start = model.embedding, end = start + model.vocabulary * d;
  const int64_t after = model.parameter_count - end;
  double square = sum_of_squares(u.gradients, start) + sum_of_squares(u.gradients + end, after);
  for (int64_t i = 0; i < touched.count; ++i)
    square += sum_of_squares(u.gradients + start + touched.rows[i] * d, d);
  const double norm = sqrt(square);
  double scale = 1.0;
  if (u.clip > 0 && u.clip / (norm + 1e-6) < 1.0) scale = u.clip / (norm + 1e-6);
  if (u.first) {
    adam(model.parameters, u, model.parameter_count, (float)scale);
  } else {
    const float rate = (float)(u.rate * scale);
    descend(model.parameters, u.gradients, start, rate);
    descend(model.parameters + end, u.gradients + end, after, rate);
    for (int64_t i = 0; i < touched.count; ++i) {
      const int64_t at = start + touched.rows[i] * d;
      descend(model.parameters + at, u.gradients + at, d, rate);
    }
  }
  fill_zero(model.parameters + model.embedding, d);
  if (u.zero_null_output && model.R >= 0) fill_zero(model.parameters + model.R, d);
  return norm;
}

}  // namespace ENTNET_ISA
