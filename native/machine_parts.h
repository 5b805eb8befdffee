// What a step of a memory machine consists of. Memories lie unit by unit: M (W, PN), with a slot in every lane, so
// that hardly anything is summed across lanes. Weightings are rows of PN; lanes from N on stay zero.
#pragma once

#include "gemm.h"
#include "kernel.h"
#include "readout.h"

namespace ENTNET_ISA {

constexpr float COSINE_EPSILON = 1e-6f, LOG_FLOOR = 1e-16f, INTERFACE_LIMIT = 20.0f;

// Natural logarithm of positive normal numbers, to about one unit in the last place.
ENTNET_INLINE vec vlog(vec x) {
  ivec bits;
  memcpy(&bits, &x, sizeof(bits));
  ivec exponent = (bits >> 23) - 126;
  bits = (bits & 0x007fffff) | 0x3f000000;
  vec m;
  memcpy(&m, &bits, sizeof(m));
  const ivec low = m < splat(0.707106781f);
  exponent += low;  // -1 where it holds
  m = select(low, m + m, m) - splat(1.0f);
  const vec e = __builtin_convertvector(exponent, vec), z = m * m;
  vec y = splat(7.0376836292e-2f);
  y = y * m + splat(-1.1514610310e-1f);
  y = y * m + splat(1.1676998740e-1f);
  y = y * m + splat(-1.2420140846e-1f);
  y = y * m + splat(1.4249322787e-1f);
  y = y * m + splat(-1.6668057665e-1f);
  y = y * m + splat(2.0000714765e-1f);
  y = y * m + splat(-2.4999993993e-1f);
  y = y * m + splat(3.3333331174e-1f);
  y = y * m * z + e * splat(-2.12194440e-4f) - splat(0.5f) * z;
  return m + y + e * splat(0.693359375f);
}

// x[i] = f(x[i]) for n floats anywhere.
template <typename Function>
ENTNET_INLINE void map_any(float* x, int64_t n, Function f) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store_any(x + i, f(load_any(x + i)));
  if (i < n) store_part(x + i, f(load_part(x + i, n - i)), n - i);
}

template <int SIZE>
struct Group {
  static constexpr int value = SIZE;
};

// Calls work(Group<G>, h) for heads h … h + G - 1, four at a time and then one by one.
template <typename Work>
ENTNET_INLINE void by_heads(int64_t heads, Work work) {
  int64_t h = 0;
  for (; h + 4 <= heads; h += 4) work(Group<4>{}, h);
  for (; h < heads; ++h) work(Group<1>{}, h);
}

ENTNET_INLINE float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
ENTNET_INLINE float softplus_of(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

// Sizes, and where the interface's parts begin.
struct MachineSizes {
  bool ntm, links, masking, deallocation, sharpness, usage_gradient, read_first;
  int64_t H, P, R, N, PN, W, I, IP, RW, RP, KP;
  int64_t keys, erase, write, masks, strengths, free, allocate, gate, modes, sharp;  // dnc
  int64_t gates, shifts, powers;                                                     // ntm
  // Rows of a step's trace, each of PN: weightings, and what they were made of.
  int64_t written, read, usage, allocated, found, order, precedence, content, forward, backward, trace;
};

static MachineSizes machine_sizes(const EntnetMachine& a) {
  MachineSizes s{};
  s.ntm = a.ntm, s.links = a.links, s.masking = a.masking, s.deallocation = a.deallocation;
  s.sharpness = a.sharpness, s.usage_gradient = a.usage_gradient, s.read_first = a.read_first;
  s.H = a.units, s.P = padded(s.H), s.R = a.heads, s.N = a.slots, s.PN = padded(s.N), s.W = a.width;
  s.RW = s.R * s.W, s.RP = padded(s.RW), s.KP = s.P + s.RP;
  int64_t at = 0;
  const auto take = [&at](int64_t size) { const int64_t first = at; at += size; return first; };
  s.keys = take((s.R + 1) * s.W), s.erase = take(s.W), s.write = take(s.W);
  if (s.masking) s.masks = take((s.R + 1) * s.W);
  s.strengths = take(s.R + 1);
  if (s.ntm) {
    s.gates = take(s.R + 1), s.shifts = take(3 * (s.R + 1)), s.powers = take(s.R + 1);
  } else {
    s.free = take(s.R), s.allocate = take(1), s.gate = take(1);
    if (s.links) s.modes = take(3 * s.R);
    if (s.sharpness) s.sharp = take(2 * s.R);
  }
  s.I = at, s.IP = padded(at);
  at = 0;
  s.written = take(1), s.read = take(s.R), s.found = take(1);
  if (s.ntm || s.links) s.content = take(s.R);
  if (!s.ntm) s.usage = take(1), s.allocated = take(1), s.order = take(1);
  if (s.links) s.precedence = take(1), s.forward = take(s.R), s.backward = take(s.R);
  s.trace = at * s.PN;
  return s;
}

// The interface cut off and squashed, part by part: gates, strengths and the like at the places of their arguments.
static void activate(const MachineSizes& s, const float* raw, float* out) {
  memcpy(out, raw, (size_t)s.I * sizeof(float));
  map_any(out, s.I, [](vec x) { return vmax(vmin(x, splat(INTERFACE_LIMIT)), splat(-INTERFACE_LIMIT)); });
  map_any(out + s.erase, s.W, [](vec x) { return sigmoid(x); });
  const int64_t heads = s.R + 1;
  const auto each = [&](int64_t first, int64_t n, float (*f)(float)) {
    for (int64_t i = first; i < first + n; ++i) out[i] = f(out[i]);
  };
  const auto sigmoid_at = [](float x) { return sigmoid_of(x); };
  const auto oneplus_at = [](float x) { return 1.0f + softplus_of(x); };
  const auto softmax3 = [&](int64_t first, int64_t n) {
    for (float* x = out + first; n > 0; --n, x += 3) {
      const float most = fmaxf(x[0], fmaxf(x[1], x[2]));
      float sum = 0.0f;
      for (int k = 0; k < 3; ++k) sum += x[k] = expf(x[k] - most);
      for (int k = 0; k < 3; ++k) x[k] /= sum;
    }
  };
  if (s.ntm) {
    map_any(out + s.keys, heads * s.W, [](vec x) { return vtanh(x); });
    map_any(out + s.write, s.W, [](vec x) { return vtanh(x); });
    each(s.strengths, heads, [](float x) { return softplus_of(x); });
    each(s.gates, heads, sigmoid_at);
    softmax3(s.shifts, heads);
    each(s.powers, heads, oneplus_at);
    return;
  }
  each(s.strengths, heads, oneplus_at);
  each(s.free, s.R, sigmoid_at);
  each(s.allocate, 1, sigmoid_at);
  each(s.gate, 1, sigmoid_at);
  if (s.masking) map_any(out + s.masks, heads * s.W, [](vec x) { return sigmoid(x); });
  if (s.links) softmax3(s.modes, s.R);
  if (s.sharpness) each(s.sharp, 2 * s.R, oneplus_at);
}

// Gradients of the squashed interface become those of the raw one, in place.
static void activate_backward(const MachineSizes& s, const float* raw, const float* out, float* d) {
  const int64_t heads = s.R + 1;
  const auto sigmoids = [&](int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; ++i) d[i] *= out[i] * (1.0f - out[i]);
  };
  const auto tanhs = [&](int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; ++i) d[i] *= 1.0f - out[i] * out[i];
  };
  const auto softpluses = [&](int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; ++i) d[i] *= sigmoid_of(raw[i]);
  };
  const auto softmax3 = [&](int64_t first, int64_t n) {
    for (int64_t i = first; n > 0; --n, i += 3) {
      const float mean = out[i] * d[i] + out[i + 1] * d[i + 1] + out[i + 2] * d[i + 2];
      for (int64_t k = i; k < i + 3; ++k) d[k] = out[k] * (d[k] - mean);
    }
  };
  sigmoids(s.erase, s.W);
  softpluses(s.strengths, heads);
  if (s.ntm) {
    tanhs(s.keys, heads * s.W), tanhs(s.write, s.W), sigmoids(s.gates, heads);
    softmax3(s.shifts, heads), softpluses(s.powers, heads);
  } else {
    sigmoids(s.free, s.R), sigmoids(s.allocate, 1), sigmoids(s.gate, 1);
    if (s.masking) sigmoids(s.masks, heads * s.W);
    if (s.links) softmax3(s.modes, s.R);
    if (s.sharpness) softpluses(s.sharp, 2 * s.R);
  }
  for (int64_t i = 0; i < s.I; ++i)
    if (raw[i] > INTERFACE_LIMIT || raw[i] < -INTERFACE_LIMIT) d[i] = 0.0f;
}

// Room for addressing by content, of all heads at once.
struct ContentSpace {
  float *dots, *lengths;           // (heads, PN)
  float *squares;                  // (W, PN), where heads have masks
  float *scaled, *masks;           // (heads, W) keys under their squared masks; those
  float *key_lengths;              // (heads)
};

// Dot products of the keys with every slot, and the lengths of both. Without masks there is one row of lengths.
static void compare_content(const MachineSizes& s, const ContentSpace& c, const float* M, int64_t heads,
                            const float* keys, const float* masks) {
  const int64_t W = s.W, PN = s.PN;
  for (int64_t h = 0; h < heads; ++h) {
    float length = COSINE_EPSILON;
    for (int64_t w = 0; w < W; ++w) {
      const float key = keys[h * W + w], mask = masks ? masks[h * W + w] * masks[h * W + w] : 1.0f;
      c.masks[h * W + w] = mask, c.scaled[h * W + w] = key * mask;
      length += mask * key * key;
    }
    c.key_lengths[h] = sqrtf(length);
  }
  gemm<ROWS>(heads, PN, W, c.scaled, W, M, PN, c.dots, PN);
  if (masks) {
    for (int64_t i = 0; i < W * PN; i += LANES) store(c.squares + i, load(M + i) * load(M + i));
    gemm<ROWS>(heads, PN, W, c.masks, W, c.squares, PN, c.lengths, PN);
  } else {
    for (int64_t i = 0; i < PN; i += LANES) {
      vec sum = zero();
      for (int64_t w = 0; w < W; ++w) sum += load(M + w * PN + i) * load(M + w * PN + i);
      store(c.lengths + i, sum);
    }
  }
  const int64_t rows = masks ? heads : 1;
  for (int64_t i = 0; i < rows * PN; i += LANES)
    store(c.lengths + i, vsqrt(load(c.lengths + i) + splat(COSINE_EPSILON)));
}

ENTNET_INLINE const float* lengths_of(const MachineSizes& s, const ContentSpace& c, int64_t head, bool masked) {
  return c.lengths + (masked ? head : 0) * s.PN;
}

// weights (heads, PN) = softmax(strength · cosine)
static void content_forward(const MachineSizes& s, const ContentSpace& c, const float* M, int64_t heads,
                            const float* keys, const float* masks, const float* strengths, float* weights) {
  compare_content(s, c, M, heads, keys, masks);
  for (int64_t h = 0; h < heads; ++h) {
    const float *dots = c.dots + h * s.PN, *lengths = lengths_of(s, c, h, masks);
    float* out = weights + h * s.PN;
    for (int64_t i = 0; i < s.PN; i += LANES) {
      const vec scale = splat(c.key_lengths[h]) * load(lengths + i) + splat(COSINE_EPSILON);
      store(out + i, splat(strengths[h]) * load(dots + i) / scale);
    }
    softmax(out, s.PN, largest(out, s.N, s.PN));
  }
}

// Adds to the gradients of M, keys, masks (if any) and strengths; dweights are lost.
static void content_backward(const MachineSizes& s, const ContentSpace& c, const float* M, int64_t heads,
                             const float* keys, const float* masks, const float* strengths, const float* weights,
                             float* dweights, float* dM, float* dkeys, float* dmasks, float* dstrengths) {
  const int64_t W = s.W, PN = s.PN;
  compare_content(s, c, M, heads, keys, masks);
  float* common = nullptr;  // what lengths pull at, the same for all heads without masks
  if (!masks) common = c.squares, fill_zero(common, PN);
  for (int64_t h = 0; h < heads; ++h) {
    const float *p = weights + h * PN, *lengths = lengths_of(s, c, h, masks);
    float *d = dweights + h * PN, *dots = c.dots + h * PN;
    const float mean = dot(p, d, PN), key_length = c.key_lengths[h];
    vec dstrength = zero(), dlength = zero();
    for (int64_t i = 0; i < PN; i += LANES) {
      const vec length = load(lengths + i), q = splat(1.0f) / (splat(key_length) * length + splat(COSINE_EPSILON));
      const vec cosine = load(dots + i) * q, ds = load(p + i) * (load(d + i) - splat(mean));
      const vec dcosine = splat(strengths[h]) * ds, pull = -dcosine * cosine * q;
      dstrength += ds * cosine;
      dlength += pull * length;
      store(d + i, dcosine * q);                                // of the dot products
      const vec by_length = pull * splat(key_length) / length;  // of half the squared lengths
      store(dots + i, by_length);
      if (!masks) store(common + i, load(common + i) + by_length);
    }
    dstrengths[h] += hsum(dstrength);
    const float of_key = hsum(dlength) / key_length;
    for (int64_t w = 0; w < W; ++w) {
      const float key = keys[h * W + w];
      dkeys[h * W + w] += of_key * c.scaled[h * W + w];
      if (masks) dmasks[h * W + w] += of_key * key * key * masks[h * W + w];
    }
  }
  for (int64_t w = 0; w < W; ++w) {
    const float* m = M + w * PN;
    float* dm = dM + w * PN;
    if (!masks)
      for (int64_t i = 0; i < PN; i += LANES) store(dm + i, load(dm + i) + load(common + i) * load(m + i));
    by_heads(heads, [&](auto group, int64_t h) {
      constexpr int G = decltype(group)::value;
      vec by_dot[G], by_length[G];
      float key[G], mask[G], dot_sum[G], length_sum[G];
      for (int g = 0; g < G; ++g) {
        by_dot[g] = by_length[g] = zero();
        key[g] = c.scaled[(h + g) * W + w], mask[g] = c.masks[(h + g) * W + w];
      }
      for (int64_t i = 0; i < PN; i += LANES) {
        const vec x = load(m + i);
        vec gradient = load(dm + i);
        for (int g = 0; g < G; ++g) {
          const vec d = load(dweights + (h + g) * PN + i);
          by_dot[g] += d * x;
          gradient += d * splat(key[g]);
          if (masks) {
            const vec pulled = load(c.dots + (h + g) * PN + i) * x;
            by_length[g] += pulled * x;
            gradient += pulled * splat(mask[g]);
          }
        }
        store(dm + i, gradient);
      }
      hsums<G>(by_dot, dot_sum);
      hsums<G>(by_length, length_sum);
      for (int g = 0; g < G; ++g) {
        const int64_t at = (h + g) * W + w;
        dkeys[at] += mask[g] * dot_sum[g];
        if (masks) dmasks[at] += 2.0f * masks[at] * keys[at] * dot_sum[g] + masks[at] * length_sum[g];
      }
    });
  }
}

// reads (R, W) = Σ_i weights_i M_i
static void read_memory(const MachineSizes& s, const float* M, const float* weights, float* reads) {
  for (int64_t w = 0; w < s.W; ++w) {
    const float* m = M + w * s.PN;
    by_heads(s.R, [&](auto group, int64_t r) {
      constexpr int G = decltype(group)::value;
      vec sum[G];
      float out[G];
      for (int g = 0; g < G; ++g) sum[g] = zero();
      for (int64_t i = 0; i < s.PN; i += LANES)
        for (int g = 0; g < G; ++g) sum[g] += load(weights + (r + g) * s.PN + i) * load(m + i);
      hsums<G>(sum, out);
      for (int g = 0; g < G; ++g) reads[(r + g) * s.W + w] = out[g];
    });
  }
}

// Adds to the gradients of the weights and of M.
static void read_memory_backward(const MachineSizes& s, const float* M, const float* weights, const float* dreads,
                                 float* dweights, float* dM) {
  gemm_add<ROWS>(s.R, s.PN, s.W, dreads, s.W, M, s.PN, dweights, s.PN);
  gemm_add<COLUMNS>(s.W, s.PN, s.R, dreads, s.W, weights, s.PN, dM, s.PN);
}

// out = M kept (1 - w e^T) + w v^T; kept may be null, and out may be M.
static void write_memory(const MachineSizes& s, const float* M, const float* weights, const float* kept,
                         const float* erase, const float* add, float* out) {
  for (int64_t w = 0; w < s.W; ++w) {
    const vec e = splat(erase[w]), v = splat(add[w]);
    for (int64_t i = 0; i < s.PN; i += LANES) {
      const vec weight = load(weights + i);
      vec m = load(M + w * s.PN + i);
      if (kept) m *= load(kept + i);
      store(out + w * s.PN + i, m * (splat(1.0f) - weight * e) + weight * v);
    }
  }
}

// dM, of the memory after it, becomes that of the memory before; adds to the other gradients.
static void write_memory_backward(const MachineSizes& s, const float* M, const float* weights, const float* kept,
                                  const float* erase, const float* add, float* dM, float* dweights, float* dkept,
                                  float* derase, float* dadd) {
  const vec one = splat(1.0f);
  for (int64_t w = 0; w < s.W; ++w) {
    const vec e = splat(erase[w]), v = splat(add[w]);
    vec by_erase = zero(), by_add = zero();
    for (int64_t i = 0; i < s.PN; i += LANES) {
      float* at = dM + w * s.PN + i;
      const vec d = load(at), weight = load(weights + i), before = load(M + w * s.PN + i);
      const vec keep = kept ? load(kept + i) : one, left = one - weight * e, m = before * keep;
      by_erase -= d * m * weight;
      by_add += d * weight;
      store(dweights + i, load(dweights + i) + d * (v - m * e));
      if (kept) store(dkept + i, load(dkept + i) + d * before * left);
      store(at, d * keep * left);
    }
    derase[w] += hsum(by_erase);
    dadd[w] += hsum(by_add);
  }
}

// weights = softmax(power · log(weights + floor)), in `out`
static void sharpen(const MachineSizes& s, const float* weights, float power, float floor, float* out) {
  for (int64_t i = 0; i < s.PN; i += LANES)
    store(out + i, splat(power) * vlog(load(weights + i) + splat(floor)));
  softmax(out, s.PN, largest(out, s.N, s.PN));
}

// `d`, of the sharpened, becomes that of the weights before; returns that of the power. `d` is zero from N on.
static float sharpen_backward(const MachineSizes& s, const float* weights, float power, float floor,
                              const float* out, float* d) {
  const float mean = dot(out, d, s.PN);
  vec dpower = zero();
  for (int64_t i = 0; i < s.PN; i += LANES) {
    const vec x = load(weights + i) + splat(floor), dlogit = load(out + i) * (load(d + i) - splat(mean));
    dpower += dlogit * vlog(x);
    store(d + i, dlogit * splat(power) / x);
  }
  return hsum(dpower);
}

}  // namespace ENTNET_ISA
