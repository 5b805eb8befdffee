// Equations (2) to (5) over one story, and their derivatives by hand.
//
// A story's memory is m rows of D floats: d units, then zeros up to a multiple of ALIGN. The zeros stay
// zeros all the way through, so no loop needs a tail. Names follow the paper's letters: h memory, w keys,
// s the sentence as the gate sees it, x the candidate before φ, g the gate, n the norm.
#pragma once

#include "api.h"
#include "gemm.h"

namespace ENTNET_ISA {

// What becomes of p = σ(…). Plain gates are p itself. Gates that shut let `scale p + shift` through from `threshold`
// on, and nothing below it; below `learns`, nothing is learnt either.
struct GateShape {
  bool shuts = false;
  float threshold = 0.0f, scale = 1.0f, shift = 0.0f, learns = 0.0f;
};

static GateShape gate_shape(const EntnetGate& gate) {
  return {gate.shuts != 0, (float)gate.threshold, (float)gate.scale, (float)gate.shift, (float)gate.learns};
}

struct MemoryWeights {
  int64_t m, d;
  int64_t D, M;               // d and m, padded
  const float* U = nullptr;   // (d, D); null stands for zero
  const float* Ut = nullptr;  // (d, D): U transposed
  const float* slope;         // (D); ones where φ is the identity
  const float* gate_bias;     // (M); zeros where there is none
  bool normalise;
  float norm_floor;
  GateShape gate;
  bool learning = true;  // whether backward follows
};

struct StoryInput {
  int64_t T;
  const float* candidate;       // (T, D): W s
  const float* gate;            // (T, D): s
  const float* keys;            // (m, D): w
  const float* key_input;       // (m, D): V w and the bias
  const unsigned char* closed;  // (T), or null
  const int64_t* live = nullptr;  // (T) slots that exist by then, the first ones; null for all, always
  const unsigned char* quiet = nullptr;  // (T), or null: sentences for which open gates cost `penalty`
  float penalty = 0.0f;
  const float* noise = nullptr;  // (T, m, D), or null: added to slots as they are written, before (5)
};

// What backward needs to know of forward.
struct StoryTrace {
  float* states;  // (T + 1, m, D): the first are the keys
  float* x;       // (T, m, D)
  float* p;       // (T, M): σ(…)
  float* g;       // (T, M): what of it the gate lets through; the same array where gates do not shut
  float* inverse;  // (T, M): 1 / n, or 1 where (5) is off
};

struct ScanGradients {
  float* U;          // (d, D), added to; null where not wanted
  float* slope;      // (D), added to
  float* gate_bias;  // (M), added to
  float* keys;       // (m, D), added to
  float* key_input;  // (m, D), added to
  float* candidate;  // (T, D), overwritten
  float* gate;       // (T, D), overwritten
};

struct ScanScratch {
  float* dh;      // (m, D)
  float* dx;      // (block · m, D)
  float* dlogit;  // (T, M)
  int64_t block;  // sentences whose share of dU is taken together
};

// Enough rows of dx and h that the sum over them outweighs loading and storing dU, few enough for the cache.
ENTNET_INLINE int64_t sentences_per_block(int64_t m, int64_t D) {
  const int64_t rows = 11200 / D;
  return rows > m ? rows / m : 1;
}

struct GateArguments {
  int64_t D;
  const float *h, *w, *s;
  float* out;

  template <int G>
  void go(int64_t j) const {
    const float *hj = h + j * D, *wj = w + j * D;
    vec sum[G] = {};
    for (int64_t i = 0; i < D; i += LANES) {
      const vec si = load(s + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) sum[k] += (load(hj + k * D + i) + load(wj + k * D + i)) * si;
    }
    hsums<G>(sum, out + j);
  }
};

// (2)  σ(s·h_j + s·w_j + b_j), and where gates shut, 0 in the padding behind the slots.
ENTNET_INLINE void open_gates(const MemoryWeights& p, const float* h, const float* w, const float* s,
                              bool closed, float* g) {
  if (closed) return fill_zero(g, p.M);
  fill_zero(g + p.M - ALIGN, ALIGN);
  by_slots(p.m, GateArguments{p.D, h, w, s, g});
  for (int64_t j = 0; j < p.M; j += LANES) store(g + j, sigmoid(load(g + j) + load(p.gate_bias + j)));
  if (p.gate.shuts) fill_zero(g + p.m, p.M - p.m);
}

ENTNET_INLINE float widest(const float* g, int64_t M) {
  vec most = load(g);
  for (int64_t j = LANES; j < M; j += LANES) most = vmax(most, load(g + j));
  return hmax(most);
}

// What gates that shut let through; false if the sentence leaves no trace: not in memory, nor in gradients.
ENTNET_INLINE bool shut_gates(const MemoryWeights& weights, const float* p, float* g) {
  const GateShape& shape = weights.gate;
  const float most = widest(p, weights.M);
  if (most < (weights.learning ? shape.learns : shape.threshold)) return false;
  for (int64_t j = 0; j < weights.M; j += LANES) {
    const vec pj = load(p + j);
    store(g + j, select(pj >= splat(shape.threshold), pj * splat(shape.scale) + splat(shape.shift), zero()));
  }
  return true;
}

// From sums of squares to the inverse of the norms that (5) divides by.
ENTNET_INLINE void invert_norms(const MemoryWeights& p, float* squares) {
  const vec one = splat(1.0f), floor = splat(p.norm_floor);
  for (int64_t j = 0; j < p.M; j += LANES) {
    const vec square = load(squares + j);
    store(squares + j, one / vmax(vsqrt(select(square > zero(), square, one)), floor));
  }
}

// (3) and (4): u = h + g φ(x), and the sum of its squares.
struct Write {
  int64_t D;
  const float *h, *x, *g, *slope;
  float *u, *squares;

  template <int G>
  void go(int64_t j) const {
    // Copies of the members: the compiler must take it that a store may change those.
    const int64_t width = D;
    const float *hj = h + j * D, *xj = x + j * D, *slopes = slope;
    float* uj = u + j * D;
    vec square[G] = {}, open[G];
    for (int k = 0; k < G; ++k) open[k] = splat(g[j + k]);
    for (int64_t i = 0; i < width; i += LANES) {
      const vec slope_i = load(slopes + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = k * width + i;
        const vec xi = load(xj + at);
        const vec c = select(xi > zero(), xi, slope_i * xi);
        const vec ui = load(hj + at) + open[k] * c;
        square[k] += ui * ui;
        store(uj + at, ui);
      }
    }
    hsums<G>(square, squares + j);
  }
};

// What is added to written slots, and the sums of squares with it. A constant: backward needs to know nothing of it.
ENTNET_INLINE void add_noise(const MemoryWeights& p, const float* noise, const float* g, float* u, float* squares) {
  for (int64_t j = 0; j < p.m; ++j) {
    if (g[j] == 0.0f) continue;
    vec square = zero();
    for (int64_t i = j * p.D; i < (j + 1) * p.D; i += LANES) {
      const vec ui = load(u + i) + load(noise + i);
      square += ui * ui;
      store(u + i, ui);
    }
    squares[j] = hsum(square);
  }
}

// Read one sentence: from memory h to `next`, leaving x, g and the inverse norms for backward.
static void step_forward(const MemoryWeights& p, const float* h, const float* candidate, const float* s,
                         const float* w, const float* key_input, bool closed, float* next, float* x,
                         float* raw, float* g, float* inverse, const float* noise = nullptr) {
  open_gates(p, h, w, s, closed, raw);
  if (p.gate.shuts && !shut_gates(p, raw, g)) {
    fill_zero(g, p.M);
    memcpy(next, h, (size_t)(p.m * p.D) * sizeof(float));
    return;
  }
  gemm<ROWS>(p.m, p.D, p.Ut ? p.d : 0, h, p.D, p.Ut, p.D, x, p.D, Start{key_input, p.D, candidate});
  fill_zero(inverse + p.M - ALIGN, ALIGN);
  by_slots(p.m, Write{p.D, h, x, g, p.slope, next, inverse});
  if (noise) add_noise(p, noise, g, next, inverse);
  if (!p.normalise) {
    for (int64_t j = 0; j < p.M; j += LANES) store(inverse + j, splat(1.0f));
    return;
  }
  invert_norms(p, inverse);
  for (int64_t j = 0; j < p.m; ++j) {
    if (p.gate.shuts && g[j] == 0.0f) continue;  // a shut slot stays as it is, to the bit
    const vec scale = splat(inverse[j]);
    for (int64_t i = j * p.D; i < (j + 1) * p.D; i += LANES) store(next + i, load(next + i) * scale);  // (5)
  }
}

// The weights for the slots that exist when sentence t is read.
ENTNET_INLINE MemoryWeights live_at(const MemoryWeights& p, const StoryInput& in, int64_t t) {
  MemoryWeights live = p;
  if (in.live) live.m = in.live[t], live.M = padded(live.m);
  return live;
}

// Read a story, keeping everything that backward needs.
static void story_forward(const MemoryWeights& p, const StoryInput& in, const StoryTrace& trace) {
  const int64_t size = p.m * p.D;
  memcpy(trace.states, in.keys, (size_t)size * sizeof(float));
  for (int64_t t = 0; t < in.T; ++t) {
    const MemoryWeights live = live_at(p, in, t);
    const float* h = trace.states + t * size;
    float* next = trace.states + (t + 1) * size;
    const int64_t read = live.m * p.D;  // slots to come stay at their keys
    memcpy(next + read, h + read, (size_t)(size - read) * sizeof(float));
    if (!live.m) continue;
    step_forward(live, h, in.candidate + t * p.D, in.gate + t * p.D, in.keys, in.key_input,
                 in.closed && in.closed[t], next, trace.x + t * size, trace.p + t * p.M, trace.g + t * p.M,
                 trace.inverse + t * p.M, in.noise ? in.noise + t * size : nullptr);
  }
}

// h'·dh' for every slot: what (5) takes away from the gradient.
struct AlongMemory {
  int64_t D;
  const float *next, *dh;
  float* out;

  template <int G>
  void go(int64_t j) const {
    vec sum[G] = {};
    const float *nextj = next + j * D, *dhj = dh + j * D;
    for (int64_t i = 0; i < D; i += LANES)
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) sum[k] += load(nextj + k * D + i) * load(dhj + k * D + i);
    hsums<G>(sum, out + j);
  }
};

// From dh' to du, both in dh, and to dx; leaves dx·x in `along`, which is g dg.
struct WriteBackward {
  int64_t D;
  const float *next, *x, *g, *inverse, *slope;
  float *along, *dh, *dx, *dcandidate, *dslope, *dkey_input;

  template <int G>
  void go(int64_t j) const {
    // Copies of the members: the compiler must take it that a store may change those.
    const int64_t width = D, row = j * D;
    const float *nextj = next + row, *xj = x + row, *slopes = slope;
    float *dhj = dh + row, *dxj = dx + row, *dkey = dkey_input + row, *dslopes = dslope, *dsum = dcandidate;
    vec sum[G] = {}, scale[G], shift[G], open[G];
#pragma GCC unroll 4
    for (int k = 0; k < G; ++k) {
      scale[k] = splat(inverse[j + k]);
      shift[k] = splat(along[j + k]);
      open[k] = splat(g[j + k]);
    }
    for (int64_t i = 0; i < width; i += LANES) {
      const vec slope_i = load(slopes + i);
      vec dslope_i = load(dslopes + i), dsum_i = load(dsum + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = k * width + i;
        const vec du = (load(dhj + at) - load(nextj + at) * shift[k]) * scale[k];
        const vec xi = load(xj + at), dc = open[k] * du;
        const vec dxi = dc * select(xi > zero(), splat(1.0f), slope_i);
        sum[k] += dxi * xi;
        dslope_i += dc * vmin(xi, zero());
        dsum_i += dxi;
        store(dkey + at, load(dkey + at) + dxi);
        store(dxj + at, dxi);
        store(dhj + at, du);
      }
      store(dslopes + i, dslope_i);
      store(dsum + i, dsum_i);
    }
    hsums<G>(sum, along + j);
  }
};

// The same where gates shut. Shut slots pass dh on as it is; so that they may learn to open, `along` becomes du·c,
// with du as if they had been written with a gate of 0 (a straight-through gradient).
struct ShutWriteBackward {
  int64_t D;
  const float *next, *x, *g, *inverse, *slope;
  float *along, *dh, *dx, *dcandidate, *dslope, *dkey_input;

  void go(int64_t j) const {
    const int64_t row = j * D;
    const bool shut = g[j] == 0.0f;
    const vec scale = splat(inverse[j]), open = splat(g[j]);
    // A shut slot was not divided by its norm.
    const vec shift = splat(shut ? along[j] * inverse[j] * inverse[j] : along[j]);
    vec sum = zero();
    for (int64_t i = 0; i < D; i += LANES) {
      const vec slope_i = load(slope + i), dhi = load(dh + row + i), xi = load(x + row + i);
      const ivec positive = xi > zero();
      const vec du = (dhi - load(next + row + i) * shift) * scale;
      sum += du * select(positive, xi, slope_i * xi);
      if (shut) {
        store(dx + row + i, zero());
        continue;
      }
      const vec dc = open * du, dxi = dc * select(positive, splat(1.0f), slope_i);
      store(dslope + i, load(dslope + i) + dc * vmin(xi, zero()));
      store(dcandidate + i, load(dcandidate + i) + dxi);
      store(dkey_input + row + i, load(dkey_input + row + i) + dxi);
      store(dx + row + i, dxi);
      store(dh + row + i, du);
    }
    along[j] = hsum(sum);
  }
};

// From Σ du·c to the gradient of the gates' arguments, for gates that shut: dℓ = dg g'(p) p (1 − p).
ENTNET_INLINE void through_shut_gates(const MemoryWeights& w, const float* p, float penalty, float* dlogit) {
  for (int64_t j = 0; j < w.M; j += LANES) {
    const vec pj = load(p + j), dg = load(dlogit + j) * splat(w.gate.scale) + splat(penalty);
    const vec dl = dg * pj * (splat(1.0f) - pj);
    store(dlogit + j, select(pj >= splat(w.gate.learns), dl, zero()));
  }
}

// Through (5), (4) and (3) for all slots; leaves in dlogit the gradient of the gates' arguments.
ENTNET_INLINE void through_write(const MemoryWeights& p, const float* next, const float* x, const float* raw,
                                 const float* g, const float* inverse, float penalty, float* dh, float* dx,
                                 float* dlogit, float* dcandidate, const ScanGradients& into) {
  fill_zero(dcandidate, p.D);
  fill_zero(dlogit, p.M);
  if (p.normalise) by_slots(p.m, AlongMemory{p.D, next, dh, dlogit});
  // A norm that is held up by its floor is a constant.
  const float held = p.norm_floor > 0 ? 1.0f / p.norm_floor : INFINITY;
  for (int64_t j = 0; j < p.M; j += LANES)
    store(dlogit + j, select(load(inverse + j) >= splat(held), zero(), load(dlogit + j)));
  if (p.gate.shuts) {
    const ShutWriteBackward write{p.D, next, x, g, inverse, p.slope, dlogit, dh, dx, dcandidate, into.slope,
                                  into.key_input};
    for (int64_t j = 0; j < p.m; ++j) write.go(j);
    through_shut_gates(p, raw, penalty, dlogit);
  } else {
    by_slots(p.m, WriteBackward{p.D, next, x, g, inverse, p.slope, dlogit, dh, dx, dcandidate, into.slope,
                                into.key_input});
    // dℓ = dg g (1 − g), where g dg = dx·x
    for (int64_t j = 0; j < p.M; j += LANES) {
      const vec dl = (load(dlogit + j) + splat(penalty) * load(g + j)) * (splat(1.0f) - load(g + j));
      store(dlogit + j, dl);
    }
  }
  for (int64_t j = 0; j < p.M; j += LANES) store(into.gate_bias + j, load(into.gate_bias + j) + load(dlogit + j));
}

// The gate's share: dh += dℓ s and ds += Σ_j dℓ_j (h_j + w_j). A shut gate tells the memory nothing: what it might
// have been is no part of what it is, and over many sentences such gradients would grow without bound.
struct GateBackward {
  int64_t D;
  const float *h, *w, *s, *dlogit;
  const float* g;  // null where gates do not shut
  float *dh, *ds;

  template <int G>
  void go(int64_t j) const {
    const int64_t width = D;
    const float *hj = h + j * D, *wj = w + j * D, *sentence = s;
    float *dhj = dh + j * D, *dsentence = ds;
    vec dl[G], dmemory[G];
    for (int k = 0; k < G; ++k) {
      dl[k] = splat(dlogit[j + k]);
      dmemory[k] = g && g[j + k] == 0.0f ? zero() : dl[k];
    }
    for (int64_t i = 0; i < width; i += LANES) {
      const vec si = load(sentence + i);
      vec sum = load(dsentence + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = k * width + i;
        sum += dl[k] * (load(hj + at) + load(wj + at));
        store(dhj + at, load(dhj + at) + dmemory[k] * si);
      }
      store(dsentence + i, sum);
    }
  }
};

// Backward through a story. `add_reads(t, dh)` adds the gradient of what was read after sentence t.
template <typename AddReads>
static void story_backward(const MemoryWeights& p, const StoryInput& in, const StoryTrace& trace,
                           const ScanGradients& into, const ScanScratch& scratch, AddReads add_reads) {
  const int64_t size = p.m * p.D;
  float* dh = scratch.dh;
  fill_zero(dh, size);
  int64_t block_end = in.T;
  bool written = false;  // whether a sentence of the block was
  for (int64_t t = in.T - 1; t >= 0; --t) {
    const int64_t block_start = t / scratch.block * scratch.block;
    const float *h = trace.states + t * size, *next = h + size;
    float* dx = scratch.dx + (t - block_start) * size;
    float* dlogit = scratch.dlogit + t * p.M;
    add_reads(t, dh);
    const MemoryWeights live = live_at(p, in, t);
    fill_zero(into.gate + t * p.D, p.D);
    if (!live.m || (p.gate.shuts && widest(trace.p + t * p.M, live.M) < p.gate.learns)) {
      fill_zero(into.candidate + t * p.D, p.D);
      fill_zero(dlogit, p.M);
      fill_zero(dx, size);
    } else {
      if (live.m < p.m) {
        fill_zero(dlogit, p.M);
        fill_zero(dx + live.m * p.D, (p.m - live.m) * p.D);
      }
      const float penalty = in.quiet && in.quiet[t] ? in.penalty : 0.0f;
      through_write(live, next, trace.x + t * size, trace.p + t * p.M, trace.g + t * p.M,
                    trace.inverse + t * p.M, penalty, dh, dx, dlogit, into.candidate + t * p.D, into);
      const float* shut = p.gate.shuts ? trace.g + t * p.M : nullptr;
      by_slots(live.m, GateBackward{p.D, h, in.keys, in.gate + t * p.D, dlogit, shut, dh, into.gate + t * p.D});
      if (p.U) gemm_add<ROWS>(live.m, p.D, p.d, dx, p.D, p.U, p.D, dh, p.D);
      written = true;
    }
    if (t == block_start) {
      if (into.U && written)
        gemm_add<COLUMNS>(p.d, p.D, (block_end - t) * p.m, scratch.dx, p.D, h, p.D, into.U, p.D);
      block_end = t;
      written = false;
    }
  }
  // Slots started as the keys, and every gate has seen them.
  for (int64_t i = 0; i < size; i += LANES) store(into.keys + i, load(into.keys + i) + load(dh + i));
  gemm_add<COLUMNS>(p.m, p.D, in.T, scratch.dlogit, p.M, in.gate, p.D, into.keys, p.D);
}

}  // namespace ENTNET_ISA
