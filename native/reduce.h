// A layer of a query-reduction network: what sentences make of a question, summed with weights that fade.
//
//   h_i <- w_i tanh(x_i) + p_i h_(i-1),   from the first sentence on, and with other weights from the last one back
//
// Rows are used as they lie. The states of both directions are kept apart for the way back.
#pragma once

#include "kernel.h"

namespace ENTNET_ISA {

// Up to a vector of a row of any width, and zeros after its end.
ENTNET_INLINE vec take(const float* p, int64_t left) { return left >= LANES ? load_any(p) : load_part(p, left); }

ENTNET_INLINE void put(float* p, vec v, int64_t left) {
  if (left >= LANES)
    store_any(p, v);
  else
    store_part(p, v, left);
}

static void reduce_forward(const EntnetReduce* arguments) {
  const FlushDenormals flush;
  const EntnetReduce& a = *arguments;
  const int64_t d = a.width, M = a.rows;
  for (int64_t i = 0; i < M; ++i)
    for (int64_t k = 0; k < d; k += LANES) put(a.reduced + i * d + k, vtanh(take(a.inputs + i * d + k, d - k)), d - k);
  int64_t first = 0;
  for (int64_t q = 0; q < a.questions; first += a.lengths[q++]) {
    for (int64_t way = 0; way < a.ways; ++way) {
      const float* weights = a.weights + way * M;
      const int64_t T = a.lengths[q], step = way ? -1 : 1;
      for (int64_t t = 0, i = way ? first + T - 1 : first; t < T; ++t, i += step) {
        const vec w = splat(weights[i]), p = splat(a.passed[i]);
        float* h = a.states + (way * M + i) * d;
        const float* before = h - step * d;
        for (int64_t k = 0; k < d; k += LANES) {
          const vec found = w * take(a.reduced + i * d + k, d - k);
          put(h + k, t ? found + p * take(before + k, d - k) : found, d - k);
        }
      }
    }
  }
}

// Gradients: `pull` (d) is that of the state in hand; those of the reduced questions gather in out->inputs.
static void reduce_backward(const EntnetReduce* arguments, const EntnetReduceGradients* out, Workspace* space) {
  const FlushDenormals flush;
  const EntnetReduce& a = *arguments;
  const int64_t d = a.width, M = a.rows, P = padded(d);
  Cutter measure;
  measure.floats(P);
  float* pull = Cutter{reserve(&space->scratch[0], measure.at)}.floats(P);
  fill_zero(out->inputs, M * d);
  fill_zero(out->passed, M);
  int64_t first = 0;
  for (int64_t q = 0; q < a.questions; first += a.lengths[q++]) {
    for (int64_t way = 0; way < a.ways; ++way) {
      const float* weights = a.weights + way * M;
      const int64_t T = a.lengths[q], step = way ? -1 : 1;
      fill_zero(pull, P);
      for (int64_t t = T - 1, i = way ? first : first + T - 1; t >= 0; --t, i -= step) {
        const vec w = splat(weights[i]), p = splat(a.passed[i]);
        const float* before = a.states + (way * M + i - step) * d;
        vec of_weight = zero(), of_passed = zero();
        for (int64_t k = 0; k < d; k += LANES) {
          const int64_t left = d - k;
          const vec g = take(out->states + i * d + k, left) + load(pull + k);
          float* dreduced = out->inputs + i * d + k;
          of_weight += g * take(a.reduced + i * d + k, left);
          if (t) of_passed += g * take(before + k, left);
          put(dreduced, take(dreduced, left) + w * g, left);
          store(pull + k, p * g);
        }
        out->weights[way * M + i] = hsum(of_weight);
        out->passed[i] += hsum(of_passed);
      }
    }
  }
  const vec one = splat(1.0f);
  for (int64_t i = 0; i < M * d; i += LANES) {
    const int64_t left = M * d - i;
    const vec reduced = take(a.reduced + i, left);
    put(out->inputs + i, take(out->inputs + i, left) * (one - reduced * reduced), left);
  }
}

}  // namespace ENTNET_ISA
