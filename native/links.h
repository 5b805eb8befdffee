// The DNC's usage, allocation and temporal links.
#pragma once

#include "machine_parts.h"

namespace ENTNET_ISA {

// kept = Π_r (1 - f_r w_r)
static void retain(const MachineSizes& s, const float* weights, const float* free, float* kept) {
  for (int64_t i = 0; i < s.PN; i += LANES) {
    vec product = splat(1.0f);
    for (int64_t r = 0; r < s.R; ++r) product *= splat(1.0f) - splat(free[r]) * load(weights + r * s.PN + i);
    store(kept + i, product);
  }
}

static void retain_backward(const MachineSizes& s, const float* weights, const float* free, const float* dkept,
                            float* dweights, float* dfree) {
  for (int64_t r = 0; r < s.R; ++r) {
    vec by_free = zero();
    for (int64_t i = 0; i < s.PN; i += LANES) {
      vec others = load(dkept + i);
      for (int64_t q = 0; q < s.R; ++q)
        if (q != r) others *= splat(1.0f) - splat(free[q]) * load(weights + q * s.PN + i);
      float* at = dweights + r * s.PN + i;
      by_free -= others * load(weights + r * s.PN + i);
      store(at, load(at) - others * splat(free[r]));
    }
    dfree[r] += hsum(by_free);
  }
}

ENTNET_INLINE float floored(float usage) { return COSINE_EPSILON + (1.0f - COSINE_EPSILON) * usage; }

// a[φ_j] = (1 - u[φ_j]) Π_i<j u[φ_i]. `order` has an order of the slots, best the one of the step before, and is
// sorted by usage, and by number where that is equal: usage changes little from step to step.
static void allocate(const MachineSizes& s, const float* usage, int32_t* order, float* out) {
  for (int64_t j = 1; j < s.N; ++j) {
    const int32_t slot = order[j];
    const float value = floored(usage[slot]);
    int64_t k = j;
    for (; k > 0; --k) {
      const int32_t other = order[k - 1];
      const float theirs = floored(usage[other]);
      if (theirs < value || (theirs == value && other < slot)) break;
      order[k] = other;
    }
    order[k] = slot;
  }
  fill_zero(out, s.PN);
  float before = 1.0f;
  for (int64_t j = 0; j < s.N; ++j) {
    const float u = floored(usage[order[j]]);
    out[order[j]] = (1.0f - u) * before;
    before *= u;
  }
}

// Adds to the gradient of usage. `before` has room for a number per slot.
static void allocate_backward(const MachineSizes& s, const float* usage, const int32_t* order, const float* d,
                              float* before, float* dusage) {
  float product = 1.0f;
  for (int64_t j = 0; j < s.N; ++j) before[j] = product, product *= floored(usage[order[j]]);
  float of_product = 0.0f;  // the gradient of Π_i<=j u[φ_i]
  for (int64_t j = s.N - 1; j >= 0; --j) {
    const int32_t slot = order[j];
    const float u = floored(usage[slot]);
    dusage[slot] += (1.0f - COSINE_EPSILON) * before[j] * (of_product - d[slot]);
    of_product = d[slot] * (1.0f - u) + of_product * u;
  }
}

ENTNET_INLINE ivec lanes_from(int64_t first) {
  ivec out;
  for (int k = 0; k < LANES; ++k) out[k] = (int32_t)first + k;
  return out;
}

// One row of the links after a step: (1 - w_i - w_j) L_ij + w_i p_j, and 0 on the diagonal.
ENTNET_INLINE vec linked(vec links, vec own, vec others, vec precedence, ivec lane, ivec row) {
  const vec updated = (splat(1.0f) - own - others) * links + own * precedence;
  return select(lane == row, zero(), updated);
}

// One sweep: links are updated (out may be where they are), and, if wanted, forward = L w and backward = L^T w
// for the weightings (R, PN) of all heads.
static void link_forward(const MachineSizes& s, const float* links, const float* write, const float* precedence,
                         const float* weights, float* out, float* forward, float* backward) {
  const int64_t PN = s.PN;
  if (forward) fill_zero(forward, s.R * PN), fill_zero(backward, s.R * PN);
  for (int64_t i = 0; i < s.N; ++i) {
    const vec own = splat(write[i]);
    const ivec row = lanes_from(i) - lanes_from(0);
    ivec lane = lanes_from(0);
    for (int64_t j = 0; j < PN; j += LANES, lane += LANES)
      store(out + i * PN + j, linked(load(links + i * PN + j), own, load(write + j), load(precedence + j), lane, row));
    if (!forward) continue;
    by_heads(s.R, [&](auto group, int64_t r) {
      constexpr int G = decltype(group)::value;
      vec sum[G], own_weight[G];
      float sums[G];
      for (int g = 0; g < G; ++g) sum[g] = zero(), own_weight[g] = splat(weights[(r + g) * PN + i]);
      for (int64_t j = 0; j < PN; j += LANES) {
        const vec link = load(out + i * PN + j);
        for (int g = 0; g < G; ++g) {
          float* back = backward + (r + g) * PN + j;
          sum[g] += link * load(weights + (r + g) * PN + j);
          store(back, load(back) + link * own_weight[g]);
        }
      }
      hsums<G>(sum, sums);
      for (int g = 0; g < G; ++g) forward[(r + g) * PN + i] = sums[g];
    });
  }
}

// The way back, in one sweep. `links` are those before the step; dlinks, of those after it, become those of these.
// Adds to the gradients of the weightings, the write weighting and the precedence.
static void link_backward(const MachineSizes& s, const float* links, const float* write, const float* precedence,
                          const float* weights, const float* dforward, const float* dbackward, float* dlinks,
                          float* dweights, float* dwrite, float* dprecedence) {
  const int64_t PN = s.PN;
  for (int64_t i = 0; i < s.N; ++i) {
    const vec own = splat(write[i]);
    const ivec row = lanes_from(i) - lanes_from(0);
    const float* before = links + i * PN;
    float* d = dlinks + i * PN;
    by_heads(s.R, [&](auto group, int64_t r) {
      constexpr int G = decltype(group)::value;
      vec sum[G], own_weight[G], own_forward[G];
      float sums[G];
      for (int g = 0; g < G; ++g) {
        sum[g] = zero();
        own_weight[g] = splat(weights[(r + g) * PN + i]), own_forward[g] = splat(dforward[(r + g) * PN + i]);
      }
      ivec lane = lanes_from(0);
      for (int64_t j = 0; j < PN; j += LANES, lane += LANES) {
        const vec link = linked(load(before + j), own, load(write + j), load(precedence + j), lane, row);
        vec gradient = load(d + j);
        for (int g = 0; g < G; ++g) {
          const int64_t at = (r + g) * PN + j;
          const vec back = load(dbackward + at);
          gradient += own_forward[g] * load(weights + at) + back * own_weight[g];
          store(dweights + at, load(dweights + at) + link * own_forward[g]);
          sum[g] += link * back;
        }
        store(d + j, gradient);
      }
      hsums<G>(sum, sums);
      for (int g = 0; g < G; ++g) dweights[(r + g) * PN + i] += sums[g];
    });
    vec by_own = zero();
    ivec lane = lanes_from(0);
    for (int64_t j = 0; j < PN; j += LANES, lane += LANES) {
      const vec gradient = select(lane == row, zero(), load(d + j)), link = load(before + j), p = load(precedence + j);
      by_own += gradient * (p - link);
      store(dwrite + j, load(dwrite + j) - gradient * link);
      store(dprecedence + j, load(dprecedence + j) + gradient * own);
      store(d + j, gradient * (splat(1.0f) - own - load(write + j)));
    }
    dwrite[i] += hsum(by_own);
  }
}

}  // namespace ENTNET_ISA
