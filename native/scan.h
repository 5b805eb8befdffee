// Equations (2) to (5) over one story, and their derivatives by hand.
//
// A story's memory is m rows of D floats: d units, then zeros up to a multiple of ALIGN. The zeros stay
// zeros all the way through, so no loop needs a tail. Names follow the paper's letters: h memory, w keys,
// s the sentence as the gate sees it, x the candidate before φ, g the gate, n the norm.
#pragma once

#include "gemm.h"

namespace ENTNET_ISA {

struct MemoryWeights {
  int64_t m, d;
  int64_t D, M;               // d and m, padded
  const float* U = nullptr;   // (d, D); null stands for zero
  const float* Ut = nullptr;  // (d, D): U transposed
  const float* slope;         // (D); ones where φ is the identity
  const float* gate_bias;     // (M); zeros where there is none
  bool normalise;
  float norm_floor;
};

struct StoryInput {
  int64_t T;
  const float* candidate;       // (T, D): W s
  const float* gate;            // (T, D): s
  const float* keys;            // (m, D): w
  const float* key_input;       // (m, D): V w and the bias
  const unsigned char* closed;  // (T), or null
};

// What backward needs to know of forward.
struct StoryTrace {
  float* states;  // (T + 1, m, D): the first are the keys
  float* x;       // (T, m, D)
  float* g;       // (T, M)
  float* n;       // (T, M)
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

// Calls work.template go<G>(j) for slots j … j + G - 1, four at a time and then one by one.
template <typename Work>
ENTNET_INLINE void by_slots(int64_t m, Work work) {
  int64_t j = 0;
  for (; j + 4 <= m; j += 4) work.template go<4>(j);
  for (; j < m; ++j) work.template go<1>(j);
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

// (2)  g_j = σ(s·h_j + s·w_j + b_j)
ENTNET_INLINE void open_gates(const MemoryWeights& p, const float* h, const float* w, const float* s,
                              bool closed, float* g) {
  if (closed) return fill_zero(g, p.M);
  fill_zero(g + p.M - ALIGN, ALIGN);
  by_slots(p.m, GateArguments{p.D, h, w, s, g});
  for (int64_t j = 0; j < p.M; j += LANES) store(g + j, sigmoid(load(g + j) + load(p.gate_bias + j)));
}

// The norm that (5) divides by, from the sum of squares.
ENTNET_INLINE void norms(const MemoryWeights& p, float* n) {
  const vec one = splat(1.0f), floor = splat(p.norm_floor);
  for (int64_t j = 0; j < p.M; j += LANES) {
    const vec square = load(n + j);
    store(n + j, vmax(vsqrt(select(square > zero(), square, one)), floor));
  }
}

// (3) and (4): u = h + g φ(x), and the sum of its squares.
struct Write {
  int64_t D;
  const float *h, *x, *g, *slope;
  float *u, *squares;

  template <int G>
  void go(int64_t j) const {
    const int64_t row = j * D;
    vec square[G] = {};
    for (int64_t i = 0; i < D; i += LANES) {
      const vec slopes = load(slope + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = row + k * D + i;
        const vec xi = load(x + at);
        const vec c = select(xi > zero(), xi, slopes * xi);
        const vec ui = load(h + at) + splat(g[j + k]) * c;
        square[k] += ui * ui;
        store(u + at, ui);
      }
    }
    hsums<G>(square, squares + j);
  }
};

// Read one sentence: from memory h to `next`, leaving x, g and n for backward.
static void step_forward(const MemoryWeights& p, const float* h, const float* candidate, const float* s,
                         const float* w, const float* key_input, bool closed, float* next, float* x,
                         float* g, float* n) {
  open_gates(p, h, w, s, closed, g);
  gemm<ROWS>(p.m, p.D, p.Ut ? p.d : 0, h, p.D, p.Ut, p.D, x, p.D, Start{key_input, p.D, candidate});
  fill_zero(n + p.M - ALIGN, ALIGN);
  by_slots(p.m, Write{p.D, h, x, g, p.slope, next, n});
  if (!p.normalise) return;
  norms(p, n);
  for (int64_t j = 0; j < p.m; ++j) {
    const vec inverse = splat(1.0f / n[j]);
    for (int64_t i = j * p.D; i < (j + 1) * p.D; i += LANES) store(next + i, load(next + i) * inverse);  // (5)
  }
}

// Read a story, keeping everything that backward needs.
static void story_forward(const MemoryWeights& p, const StoryInput& in, const StoryTrace& trace) {
  const int64_t size = p.m * p.D;
  memcpy(trace.states, in.keys, (size_t)size * sizeof(float));
  for (int64_t t = 0; t < in.T; ++t)
    step_forward(p, trace.states + t * size, in.candidate + t * p.D, in.gate + t * p.D, in.keys,
                 in.key_input, in.closed && in.closed[t], trace.states + (t + 1) * size,
                 trace.x + t * size, trace.g + t * p.M, trace.n + t * p.M);
}

// From dh' to du, both in dh, and to dx; leaves dg in dlogit, before the sigmoid's derivative.
struct WriteBackward {
  const MemoryWeights& p;
  const float *next, *x, *g, *n;
  float *dh, *dx, *dlogit, *dcandidate;
  const ScanGradients& into;

  // h'·dh' for the slots, or 0 where the norm is held up by its floor and so a constant.
  template <int G>
  void along_memory(int64_t row, int64_t j, float* out) const {
    vec sum[G] = {};
    for (int64_t i = 0; i < p.D; i += LANES)
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) sum[k] += load(next + row + k * p.D + i) * load(dh + row + k * p.D + i);
    hsums<G>(sum, out);
    if (p.norm_floor > 0)
      for (int k = 0; k < G; ++k) out[k] = n[j + k] <= p.norm_floor ? 0.0f : out[k];
  }

  template <int G>
  void go(int64_t j) const {
    const int64_t row = j * p.D;
    float along[G] = {};
    if (p.normalise) along_memory<G>(row, j, along);
    vec dg[G] = {}, inverse[G], shift[G], open[G];
#pragma GCC unroll 4
    for (int k = 0; k < G; ++k) {
      inverse[k] = splat(p.normalise ? 1.0f / n[j + k] : 1.0f);
      shift[k] = splat(along[k]);
      open[k] = splat(g[j + k]);
    }
    for (int64_t i = 0; i < p.D; i += LANES) {
      const vec slope = load(p.slope + i);
      vec dslope = load(into.slope + i), dc_sum = load(dcandidate + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = row + k * p.D + i;
        const vec du = (load(dh + at) - load(next + at) * shift[k]) * inverse[k];
        const vec xi = load(x + at), dc = open[k] * du;
        const ivec positive = xi > zero();
        const vec dxi = select(positive, dc, dc * slope);
        dg[k] += du * select(positive, xi, slope * xi);
        dslope += select(positive, zero(), dc * xi);
        dc_sum += dxi;
        store(into.key_input + at, load(into.key_input + at) + dxi);
        store(dx + at, dxi);
        store(dh + at, du);
      }
      store(into.slope + i, dslope);
      store(dcandidate + i, dc_sum);
    }
    hsums<G>(dg, dlogit + j);
  }
};

// The gate's share: dh += dℓ s and ds += Σ_j dℓ_j (h_j + w_j).
struct GateBackward {
  int64_t D;
  const float *h, *w, *s, *dlogit;
  float *dh, *ds;

  template <int G>
  void go(int64_t j) const {
    for (int64_t i = 0; i < D; i += LANES) {
      const vec si = load(s + i);
      vec sum = load(ds + i);
#pragma GCC unroll 4
      for (int k = 0; k < G; ++k) {
        const int64_t at = (j + k) * D + i;
        const vec dl = splat(dlogit[j + k]);
        sum += dl * (load(h + at) + load(w + at));
        store(dh + at, load(dh + at) + dl * si);
      }
      store(ds + i, sum);
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
  for (int64_t t = in.T - 1; t >= 0; --t) {
    const int64_t block_start = t / scratch.block * scratch.block;
    const float *h = trace.states + t * size, *next = h + size, *g = trace.g + t * p.M;
    float* dx = scratch.dx + (t - block_start) * size;
    float* dlogit = scratch.dlogit + t * p.M;
    add_reads(t, dh);
    fill_zero(into.candidate + t * p.D, p.D);
    fill_zero(dlogit, p.M);
    by_slots(p.m, WriteBackward{p, next, trace.x + t * size, g, trace.n + t * p.M, dh, dx, dlogit,
                                into.candidate + t * p.D, into});
    for (int64_t j = 0; j < p.M; j += LANES) {
      const vec open = load(g + j), dl = load(dlogit + j) * open * (splat(1.0f) - open);
      store(dlogit + j, dl);
      store(into.gate_bias + j, load(into.gate_bias + j) + dl);
    }
    fill_zero(into.gate + t * p.D, p.D);
    by_slots(p.m, GateBackward{p.D, h, in.keys, in.gate + t * p.D, dlogit, dh, into.gate + t * p.D});
    if (p.U) {
      gemm_add<ROWS>(p.m, p.D, p.d, dx, p.D, p.U, p.D, dh, p.D);
      if (into.U && t == block_start) {
        gemm_add<COLUMNS>(p.d, p.D, (block_end - t) * p.m, scratch.dx, p.D, h, p.D, into.U, p.D);
        block_end = t;
      }
    }
  }
  // Slots started as the keys, and every gate has seen them.
  for (int64_t i = 0; i < size; i += LANES) store(into.keys + i, load(into.keys + i) + load(dh + i));
  gemm_add<COLUMNS>(p.m, p.D, in.T, scratch.dlogit, p.M, in.gate, p.D, into.keys, p.D);
}

}  // namespace ENTNET_ISA
