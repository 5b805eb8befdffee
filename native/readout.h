// (6)  p = softmax_j(q·h_j), u = Σ_j p_j h_j, y = R φ(q + H u), the loss on y, and the way back.
//
// The questions of one story are taken together: rows of q, u, z and y.
#pragma once

#include "gemm.h"

namespace ENTNET_ISA {

struct ReadWeights {
  int64_t m, d, answers;
  int64_t D, M, A;                 // the same, padded
  bool over_slots;                 // the attention itself is the answer: no H, no R
  const float *H, *Ht;             // (d, D)
  const float* R;                  // (answers, D)
  const float* Rt;                 // (d, A)
  const float* slope;              // (D)
  const unsigned char* allowed;    // (answers), or null where every answer is
};

// Room for the questions of one story, and what their backward pass needs.
struct Reading {
  int64_t Q;
  float* q;        // (Q, D)
  float* p;        // (Q, M)
  float* u;        // (Q, D)
  float* z;        // (Q, D): q + H u
  float* v;        // (Q, D): φ(z)
  float* y;        // (Q, A): scores, then their gradient
  float* dv;       // (Q, D): then dz
  float* du;       // (Q, D)
  float* dscore;   // (Q, M): gradient of q·h_j
  float* dq;       // (Q, D)
};

struct ReadGradients {
  float *H, *R, *slope;
};

struct Score {
  double loss;
  int64_t errors;
};

ENTNET_INLINE float largest(const float* y, int64_t n) {
  float best = y[0];
  for (int64_t i = 1; i < n; ++i) best = y[i] > best ? y[i] : best;
  return best;
}

// y ← softmax(y), the padding set to 0; returns log Σ exp(y − max).
ENTNET_INLINE float softmax(float* y, int64_t n, int64_t width, float most) {
  for (int64_t i = n; i < width; ++i) y[i] = -INFINITY;
  vec sum = zero();
  for (int64_t i = 0; i < width; i += LANES) {
    const vec e = vexp(load(y + i) - splat(most));
    sum += e;
    store(y + i, e);
  }
  const float total = hsum(sum);
  const vec inverse = splat(1.0f / total);
  for (int64_t i = 0; i < width; i += LANES) store(y + i, load(y + i) * inverse);
  return logf(total);
}

ENTNET_INLINE void scores_of_slots(const ReadWeights& p, const float* q, const float* h, float* score) {
  for (int64_t j = 0; j < p.m; ++j) score[j] = dot(q, h + j * p.D, p.D);
}

// Scores of every answer for every question; h[i] is the memory that question i looks at.
static void read_forward(const ReadWeights& p, const Reading& r, const float* const* h) {
  if (p.over_slots) {
    for (int64_t i = 0; i < r.Q; ++i) scores_of_slots(p, r.q + i * p.D, h[i], r.y + i * p.A);
    return;
  }
  for (int64_t i = 0; i < r.Q; ++i) {
    float *weight = r.p + i * p.M, *u = r.u + i * p.D;
    scores_of_slots(p, r.q + i * p.D, h[i], weight);
    softmax(weight, p.m, p.M, largest(weight, p.m));
    fill_zero(u, p.D);
    for (int64_t j = 0; j < p.m; ++j) axpy(u, weight[j], h[i] + j * p.D, p.D);
  }
  gemm<ROWS>(r.Q, p.D, p.d, r.u, p.D, p.Ht, p.D, r.z, p.D, Start{r.q, p.D, nullptr});
  for (int64_t i = 0; i < r.Q * p.D; i += p.D)
    for (int64_t k = 0; k < p.D; k += LANES) {
      const vec z = load(r.z + i + k);
      store(r.v + i + k, select(z > zero(), z, load(p.slope + k) * z));
    }
  gemm<ROWS>(r.Q, p.A, p.d, r.v, p.D, p.Rt, p.A, r.y, p.A);
}

// Cross-entropy and mistakes; y becomes softmax(y), predictions are written where wanted.
static Score score(const ReadWeights& p, const Reading& r, const int64_t* const* answers,
                   int64_t* const* predictions) {
  Score out{0.0, 0};
  for (int64_t i = 0; i < r.Q; ++i) {
    float* y = r.y + i * p.A;
    if (p.allowed)
      for (int64_t a = 0; a < p.answers; ++a)
        if (!p.allowed[a]) y[a] = -INFINITY;
    const float most = largest(y, p.answers);
    int64_t best = 0;
    while (best + 1 < p.answers && y[best] != most) ++best;
    const float right = y[*answers[i]];
    out.loss += (double)softmax(y, p.answers, p.A, most) + (double)most - (double)right;
    out.errors += best != *answers[i];
    if (predictions) *predictions[i] = best;
  }
  return out;
}

// From softmax(y) to dq and what read_gradient needs, with the gradients of H, R and the slopes.
static void read_backward(const ReadWeights& p, const Reading& r, const float* const* h,
                          const int64_t* const* answers, float scale, const ReadGradients& into) {
  for (int64_t i = 0; i < r.Q; ++i) {
    float* y = r.y + i * p.A;
    y[*answers[i]] -= 1.0f;
    for (int64_t a = 0; a < p.A; a += LANES) store(y + a, load(y + a) * splat(scale));
  }
  if (!p.over_slots) {
    gemm_add<COLUMNS>(p.answers, p.D, r.Q, r.y, p.A, r.v, p.D, into.R, p.D);
    gemm<ROWS>(r.Q, p.D, p.answers, r.y, p.A, p.R, p.D, r.dv, p.D);
    for (int64_t i = 0; i < r.Q * p.D; i += p.D)
      for (int64_t k = 0; k < p.D; k += LANES) {
        const vec z = load(r.z + i + k), dv = load(r.dv + i + k);
        const ivec positive = z > zero();
        store(into.slope + k, load(into.slope + k) + select(positive, zero(), dv * z));
        store(r.dv + i + k, select(positive, dv, dv * load(p.slope + k)));
      }
    gemm_add<COLUMNS>(p.d, p.D, r.Q, r.dv, p.D, r.u, p.D, into.H, p.D);
    gemm<ROWS>(r.Q, p.D, p.d, r.dv, p.D, p.H, p.D, r.du, p.D);
  }
  for (int64_t i = 0; i < r.Q; ++i) {
    float *dscore = r.dscore + i * p.M, *dq = r.dq + i * p.D;
    if (p.over_slots) {
      memcpy(dscore, r.y + i * p.A, (size_t)p.M * sizeof(float));
      fill_zero(dq, p.D);
    } else {
      const float* weight = r.p + i * p.M;
      float mean = 0.0f;
      for (int64_t j = 0; j < p.m; ++j) {
        dscore[j] = dot(r.du + i * p.D, h[i] + j * p.D, p.D);
        mean += weight[j] * dscore[j];
      }
      for (int64_t j = 0; j < p.m; ++j) dscore[j] = weight[j] * (dscore[j] - mean);
      memcpy(dq, r.dv + i * p.D, (size_t)p.D * sizeof(float));
    }
    for (int64_t j = 0; j < p.m; ++j) axpy(dq, dscore[j], h[i] + j * p.D, p.D);
  }
}

// dh_j += p_j du + dscore_j q: what question i says about the memory it looked at.
ENTNET_INLINE void read_gradient(const ReadWeights& p, const Reading& r, int64_t question, float* dh) {
  const float *q = r.q + question * p.D, *du = r.du + question * p.D;
  const float *dscore = r.dscore + question * p.M, *weight = r.p + question * p.M;
  for (int64_t j = 0; j < p.m; ++j) {
    axpy(dh + j * p.D, dscore[j], q, p.D);
    if (!p.over_slots) axpy(dh + j * p.D, weight[j], du, p.D);
  }
}

}  // namespace ENTNET_ISA
