// (6)  p = softmax_j(q·h_j), u = Σ_j p_j h_j, y = R φ(q + H u), the loss on y, and the way back.
//
// The questions of one story are taken together: rows of q, u, z and y. With more hops than one, φ(q + H u) asks
// again in the place of q.
#pragma once

#include "gemm.h"

namespace ENTNET_ISA {

struct ReadWeights {
  int64_t m, d, answers, hops;
  int64_t D, M, A;                 // the same, padded
  bool over_slots;                 // the attention itself is the answer: no H, no R
  const float *H, *Ht;             // (d, D)
  const float* R;                  // (answers, D)
  const float* Rt;                 // (d, A)
  const float* slope;              // (D)
  const unsigned char* allowed;    // (answers), or null where every answer is
};

// Room for the questions of one story, and what their backward pass needs: of each hop, where K stands first.
struct Reading {
  int64_t Q;
  int64_t hop_rows, hop_slots;  // numbers from one hop's rows (Q, D) and (Q, M) to those of the next
  float* q;        // (Q, D)
  float* p;        // (K, Q, M)
  float* u;        // (K, Q, D)
  float* z;        // (K, Q, D): q + H u
  float* v;        // (K, Q, D): φ(z), which the next hop asks with
  float* y;        // (Q, A): scores, then their gradient
  float* dv;       // (K, Q, D): then dz
  float* du;       // (K, Q, D)
  float* dscore;   // (K, Q, M): gradient of q·h_j
  float* dq;       // (Q, D)
  const int64_t* live;  // (Q) slots that exist when it is asked, the first ones; null for all
};

// The same, as hop k sees it: its rows, with what it asks with as q, and its gradient as dq.
ENTNET_INLINE Reading at_hop(const Reading& r, int64_t k) {
  Reading out = r;
  const int64_t rows = k * r.hop_rows, slots = k * r.hop_slots;
  if (k) out.q = r.v + rows - r.hop_rows, out.dq = r.dv + rows - r.hop_rows;
  out.p += slots, out.u += rows, out.z += rows, out.v += rows;
  if (r.dv) out.dv += rows, out.du += rows, out.dscore += slots;
  return out;
}

// The slots that exist when question i is asked.
ENTNET_INLINE int64_t slots_for(const ReadWeights& p, const Reading& r, int64_t i) { return r.live ? r.live[i] : p.m; }

struct Score {
  double loss;
  int64_t errors;
};

// The largest of n values; the padding up to width becomes -∞.
ENTNET_INLINE float largest(float* y, int64_t n, int64_t width) {
  for (int64_t i = n; i < width; ++i) y[i] = -INFINITY;
  vec most = load(y);
  for (int64_t i = LANES; i < width; i += LANES) most = vmax(most, load(y + i));
  return hmax(most);
}

// y ← softmax(y), given the largest; returns log Σ exp(y − largest). Padding of -∞ becomes 0.
ENTNET_INLINE float softmax(float* y, int64_t width, float most) {
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

// out_j = q·h_j
struct SlotScores {
  int64_t D;
  const float *q, *h;
  float* out;

  template <int G>
  void go(int64_t j) const {
    vec sum[G] = {};
    for (int64_t i = 0; i < D; i += LANES) {
      const vec qi = load(q + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) sum[k] += load(h + (j + k) * D + i) * qi;
    }
    hsums<G>(sum, out + j);
  }
};

// Of one hop: attention, what it finds, and φ(q + H u).
static void hop_forward(const ReadWeights& p, const Reading& r, const float* const* h) {
  for (int64_t i = 0; i < r.Q; ++i) {
    float* weight = r.p + i * p.M;
    const int64_t m = slots_for(p, r, i);
    if (!m) {
      fill_zero(weight, p.M);
      fill_zero(r.u + i * p.D, p.D);
      continue;
    }
    by_slots(m, SlotScores{p.D, r.q + i * p.D, h[i], weight});
    softmax(weight, p.M, largest(weight, m, p.M));
    gemm<ROWS>(1, p.D, m, weight, p.M, h[i], p.D, r.u + i * p.D, p.D);
  }
  gemm<ROWS>(r.Q, p.D, p.d, r.u, p.D, p.Ht, p.D, r.z, p.D, Start{r.q, p.D, nullptr});
  for (int64_t i = 0; i < r.Q * p.D; i += p.D)
    for (int64_t k = 0; k < p.D; k += LANES) {
      const vec z = load(r.z + i + k);
      store(r.v + i + k, select(z > zero(), z, load(p.slope + k) * z));
    }
}

// Scores of every answer for every question; h[i] is the memory that question i looks at.
static void read_forward(const ReadWeights& p, const Reading& r, const float* const* h) {
  if (p.over_slots) {
    for (int64_t i = 0; i < r.Q; ++i) by_slots(p.m, SlotScores{p.D, r.q + i * p.D, h[i], r.y + i * p.A});
    return;
  }
  for (int64_t k = 0; k < p.hops; ++k) hop_forward(p, at_hop(r, k), h);
  gemm<ROWS>(r.Q, p.A, p.d, at_hop(r, p.hops - 1).v, p.D, p.Rt, p.A, r.y, p.A);
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
    const float most = largest(y, p.answers, p.A);
    int64_t best = 0;
    while (best + 1 < p.answers && y[best] != most) ++best;
    const float right = y[*answers[i]];
    out.loss += (double)softmax(y, p.A, most) + (double)most - (double)right;
    out.errors += best != *answers[i];
    if (predictions) *predictions[i] = best;
  }
  return out;
}

// Through p = softmax(score) and u = Σ p_j h_j: from du to the gradient of the scores.
ENTNET_INLINE void through_attention(const ReadWeights& p, int64_t m, const float* weight, const float* du,
                                     const float* h, float* dscore) {
  fill_zero(dscore, p.M);
  by_slots(m, SlotScores{p.D, du, h, dscore});
  vec sum = zero();
  for (int64_t j = 0; j < p.M; j += LANES) sum += load(weight + j) * load(dscore + j);
  const vec mean = splat(hsum(sum));
  for (int64_t j = 0; j < p.M; j += LANES) store(dscore + j, load(weight + j) * (load(dscore + j) - mean));
}

// Of one hop: from dv to dz and to dq, and what read_gradient and read_weight_gradients need.
static void hop_backward(const ReadWeights& p, const Reading& r, const float* const* h, float* dslope) {
  for (int64_t i = 0; i < r.Q * p.D; i += p.D)
    for (int64_t k = 0; k < p.D; k += LANES) {
      const vec z = load(r.z + i + k), dv = load(r.dv + i + k);
      const ivec positive = z > zero();
      store(dslope + k, load(dslope + k) + select(positive, zero(), dv * z));
      store(r.dv + i + k, select(positive, dv, dv * load(p.slope + k)));
    }
  gemm<ROWS>(r.Q, p.D, p.d, r.dv, p.D, p.H, p.D, r.du, p.D);
  for (int64_t i = 0; i < r.Q; ++i) {
    float* dscore = r.dscore + i * p.M;
    through_attention(p, slots_for(p, r, i), r.p + i * p.M, r.du + i * p.D, h[i], dscore);
    gemm<ROWS>(1, p.D, p.m, dscore, p.M, h[i], p.D, r.dq + i * p.D, p.D, Start{r.dv + i * p.D, p.D, nullptr});
  }
}

// From softmax(y) to dq and what read_gradient and read_weight_gradients need, with that of the slopes.
static void read_backward(const ReadWeights& p, const Reading& r, const float* const* h,
                          const int64_t* const* answers, float scale, float* dslope) {
  for (int64_t i = 0; i < r.Q; ++i) {
    float* y = r.y + i * p.A;
    y[*answers[i]] -= 1.0f;
    for (int64_t a = 0; a < p.A; a += LANES) store(y + a, load(y + a) * splat(scale));
  }
  if (p.over_slots) {
    for (int64_t i = 0; i < r.Q; ++i) {
      memcpy(r.dscore + i * p.M, r.y + i * p.A, (size_t)p.M * sizeof(float));
      gemm<ROWS>(1, p.D, p.m, r.dscore + i * p.M, p.M, h[i], p.D, r.dq + i * p.D, p.D, Start{});
    }
    return;
  }
  gemm<ROWS>(r.Q, p.D, p.answers, r.y, p.A, p.R, p.D, at_hop(r, p.hops - 1).dv, p.D);
  for (int64_t k = p.hops - 1; k >= 0; --k) hop_backward(p, at_hop(r, k), h, dslope);
}

// Gradients of H and R, from all questions at once.
ENTNET_INLINE void read_weight_gradients(const ReadWeights& p, const Reading& r, float* dH, float* dR) {
  if (p.over_slots) return;
  gemm_add<COLUMNS>(p.answers, p.D, r.Q, r.y, p.A, at_hop(r, p.hops - 1).v, p.D, dR, p.D);
  for (int64_t k = 0; k < p.hops; ++k) {
    const Reading at = at_hop(r, k);
    gemm_add<COLUMNS>(p.d, p.D, r.Q, at.dv, p.D, at.u, p.D, dH, p.D);
  }
}

// dh_j += p_j du + dscore_j q: what questions first … last - 1 say about the memory that they looked at.
ENTNET_INLINE void read_gradient(const ReadWeights& p, const Reading& r, int64_t first, int64_t last, float* dh) {
  const int64_t rows = first * p.D, slots = first * p.M, count = last - first;
  for (int64_t k = 0; k < p.hops; ++k) {
    const Reading at = at_hop(r, k);
    gemm_add<COLUMNS>(p.m, p.D, count, at.dscore + slots, p.M, at.q + rows, p.D, dh, p.D);
    if (!p.over_slots) gemm_add<COLUMNS>(p.m, p.D, count, at.p + slots, p.M, at.du + rows, p.D, dh, p.D);
  }
}

}  // namespace ENTNET_ISA
