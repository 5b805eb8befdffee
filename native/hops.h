// The hops of a memory network, question by question.
//
//   s_i = u · m_i,   p = softmax(s), or s itself,   u <- u + Σ p_i c_i, or H u + Σ p_i c_i, or the ReLU of it
//
// Memories are used as they lie; what is used again and again is padded to P columns, with zeros.
#pragma once

#include "kernel.h"
#include "readout.h"

namespace ENTNET_ISA {

// The dot product of any row with a padded one.
ENTNET_INLINE float dot_any(const float* row, const float* other, int64_t n) {
  vec sum = zero();
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) sum += load_any(row + i) * load(other + i);
  if (i < n) sum += load_part(row + i, n - i) * load(other + i);
  return hsum(sum);
}

// A padded row += a times any row.
ENTNET_INLINE void axpy_from_any(float* y, float a, const float* row, int64_t n) {
  const vec factor = splat(a);
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store(y + i, load(y + i) + factor * load_any(row + i));
  if (i < n) store(y + i, load(y + i) + factor * load_part(row + i, n - i));
}

// Any row += a times a padded one.
ENTNET_INLINE void axpy_to_any(float* row, float a, const float* x, int64_t n) {
  const vec factor = splat(a);
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store_any(row + i, load_any(row + i) + factor * load(x + i));
  if (i < n) store_part(row + i, load_part(row + i, n - i) + factor * load(x + i), n - i);
}

struct HopsSpace {
  float *state, *next;       // (P), going back the gradients of these
  float* before;             // (P) the state before a hop, going back
  float* weights;            // (ages, padded) scores, then attention; going back their gradients
  float *H, *dH;             // (d, P)
};

static void cut_hops(Cutter& cut, const EntnetHops& a, HopsSpace& out) {
  const int64_t P = padded(a.width), matrix = a.H ? a.width * P : 0;
  out.state = cut.floats(P);
  out.next = cut.floats(P);
  out.before = cut.floats(P);
  out.weights = cut.floats(padded(a.ages));
  out.H = cut.floats(matrix);
  out.dH = cut.floats(matrix);
}

static HopsSpace hops_space(const EntnetHops& a, Workspace* space) {
  HopsSpace out;
  Cutter measure;
  cut_hops(measure, a, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_hops(cut, a, out);
  if (a.H) pad_rows(out.H, a.H, a.width, a.width, padded(a.width));
  return out;
}

// The memory that a hop attends to begins here in a question's; the one that it reads out is a layer further.
ENTNET_INLINE int64_t layer_at(const EntnetHops& a, int64_t hop) { return (a.H ? 0 : hop) * a.width; }

static void hops_forward(const EntnetHops* arguments, Workspace* space) {
  const FlushDenormals flush;
  const EntnetHops& a = *arguments;
  const int64_t d = a.width, P = padded(d), row = a.layers * d;
  const HopsSpace s = hops_space(a, space);
  for (int64_t q = 0; q < a.questions; ++q) {
    const float* memory = a.memories + q * a.ages * row;
    float* states = a.states + q * (a.hops + 1) * d;
    const int64_t heard = a.heard[q], whole = padded(heard);
    float *u = s.state, *next = s.next;
    pad_row(u, a.state + q * d, d, P);
    for (int64_t hop = 0; hop < a.hops; ++hop) {
      const float* m = memory + layer_at(a, hop);
      unpad_row(states + hop * d, u, d);
      for (int64_t i = 0; i < heard; ++i) s.weights[i] = dot_any(m + i * row, u, d);
      if (!a.linear) softmax(s.weights, whole, largest(s.weights, heard, whole));
      memcpy(a.attention + (q * a.hops + hop) * a.ages, s.weights, (size_t)heard * sizeof(float));
      if (a.H) {
        fill_zero(next, P);
        for (int64_t j = 0; j < d; ++j) next[j] = dot(s.H + j * P, u, P);
      } else {
        memcpy(next, u, (size_t)P * sizeof(float));
      }
      for (int64_t i = 0; i < heard; ++i) axpy_from_any(next, s.weights[i], m + d + i * row, d);
      if (a.relu)
        for (int64_t k = 0; k < P; k += LANES) store(next + k, vmax(load(next + k), zero()));
      float* other = u;
      u = next, next = other;
    }
    unpad_row(states + a.hops * d, u, d);
  }
}

static void hops_backward(const EntnetHops* arguments, const EntnetHopsGradients* out, Workspace* space) {
  const FlushDenormals flush;
  const EntnetHops& a = *arguments;
  const int64_t d = a.width, P = padded(d), row = a.layers * d;
  const HopsSpace s = hops_space(a, space);
  fill_zero(out->memories, a.questions * a.ages * row);
  if (a.H) fill_zero(s.dH, d * P);
  for (int64_t q = 0; q < a.questions; ++q) {
    const int64_t first = q * a.ages * row;
    const int64_t heard = a.heard[q];
    float *du = s.state, *next = s.next;
    pad_row(du, out->final + q * d, d, P);
    for (int64_t hop = a.hops - 1; hop >= 0; --hop) {
      const float* m = a.memories + first + layer_at(a, hop);
      float* dm = out->memories + first + layer_at(a, hop);
      const float* p = a.attention + (q * a.hops + hop) * a.ages;
      float* ds = s.weights;
      const float* before = a.states + (q * (a.hops + 1) + hop) * d;
      pad_row(s.before, before, d, P);
      if (a.relu)
        for (int64_t k = 0; k < d; ++k) du[k] = before[d + k] > 0.0f ? du[k] : 0.0f;
      float mean = 0.0f;
      for (int64_t i = 0; i < heard; ++i) {
        ds[i] = dot_any(m + d + i * row, du, d);
        mean += p[i] * ds[i];
        axpy_to_any(dm + d + i * row, p[i], du, d);
      }
      if (!a.linear)
        for (int64_t i = 0; i < heard; ++i) ds[i] = p[i] * (ds[i] - mean);
      if (a.H) {
        fill_zero(next, P);
        for (int64_t j = 0; j < d; ++j) {
          axpy(next, du[j], s.H + j * P, P);
          axpy(s.dH + j * P, du[j], s.before, P);
        }
      } else {
        memcpy(next, du, (size_t)P * sizeof(float));
      }
      for (int64_t i = 0; i < heard; ++i) {
        axpy_from_any(next, ds[i], m + i * row, d);
        axpy_to_any(dm + i * row, ds[i], s.before, d);
      }
      float* other = du;
      du = next, next = other;
    }
    unpad_row(out->state + q * d, du, d);
  }
  if (a.H) unpad_rows(out->H, s.dH, d, d, P);
}

}  // namespace ENTNET_ISA
