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

// So many rows of dx and h fit the first-level cache beside each other.
ENTNET_INLINE int64_t sentences_per_block(int64_t m, int64_t D) {
  const int64_t rows = 4608 / D;
  return rows > m ? rows / m : 1;
}

// (2)  g_j = σ(s·h_j + s·w_j + b_j)
ENTNET_INLINE void open_gates(const MemoryWeights& p, const float* h, const float* w, const float* s,
                              bool closed, float* g) {
  if (closed) return fill_zero(g, p.M);
  fill_zero(g + p.M - ALIGN, ALIGN);
  for (int64_t j = 0; j < p.m; ++j) {
    const float *hj = h + j * p.D, *wj = w + j * p.D;
    vec sum = zero();
    for (int64_t i = 0; i < p.D; i += LANES) sum += (load(hj + i) + load(wj + i)) * load(s + i);
    g[j] = hsum(sum);
  }
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

// Read one sentence: from memory h to `next`, leaving x, g and n for backward.
static void step_forward(const MemoryWeights& p, const float* h, const float* candidate, const float* s,
                         const float* w, const float* key_input, bool closed, float* next, float* x,
                         float* g, float* n) {
  open_gates(p, h, w, s, closed, g);
  gemm<ROWS>(p.m, p.D, p.Ut ? p.d : 0, h, p.D, p.Ut, p.D, x, p.D, Start{key_input, p.D, candidate});
  fill_zero(n + p.M - ALIGN, ALIGN);
  for (int64_t j = 0; j < p.m; ++j) {
    const int64_t row = j * p.D;
    const vec open = splat(g[j]);
    vec square = zero();
    for (int64_t i = 0; i < p.D; i += LANES) {
      const vec xi = load(x + row + i);
      const vec c = select(xi > zero(), xi, load(p.slope + i) * xi);  // (3)
      const vec u = load(h + row + i) + open * c;                     // (4)
      square += u * u;
      store(next + row + i, u);
    }
    n[j] = hsum(square);
  }
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

// From dh' (in dh) to dx and du (in dh); returns dg through dlogit, before the sigmoid's derivative.
ENTNET_INLINE void through_write(const MemoryWeights& p, const float* next, const float* x, const float* g,
                                 const float* n, float* dh, float* dx, float* dlogit, float* dcandidate,
                                 const ScanGradients& into) {
  for (int64_t j = 0; j < p.m; ++j) {
    const int64_t row = j * p.D;
    vec along = zero(), inverse = splat(1.0f);
    if (p.normalise) {
      // A norm held up by the floor is a constant.
      const bool held = p.norm_floor > 0 && n[j] <= p.norm_floor;
      if (!held) along = splat(dot(next + row, dh + row, p.D));
      inverse = splat(1.0f / n[j]);
    }
    const vec open = splat(g[j]);
    vec dg = zero();
    for (int64_t i = 0; i < p.D; i += LANES) {
      const vec du = (load(dh + row + i) - load(next + row + i) * along) * inverse;
      const vec xi = load(x + row + i), slope = load(p.slope + i);
      const ivec positive = xi > zero();
      const vec dc = open * du;
      const vec d = select(positive, dc, dc * slope);
      dg += du * select(positive, xi, slope * xi);
      store(into.slope + i, load(into.slope + i) + select(positive, zero(), dc * xi));
      store(into.key_input + row + i, load(into.key_input + row + i) + d);
      store(dcandidate + i, load(dcandidate + i) + d);
      store(dx + row + i, d);
      store(dh + row + i, du);
    }
    dlogit[j] = hsum(dg);
  }
}

// The gate's share: dh += dℓ s and ds = Σ_j dℓ_j (h_j + w_j).
ENTNET_INLINE void through_gate(const MemoryWeights& p, const float* h, const float* w, const float* s,
                                const float* dlogit, float* dh, float* ds) {
  fill_zero(ds, p.D);
  for (int64_t j = 0; j < p.m; ++j) {
    const int64_t row = j * p.D;
    const vec dl = splat(dlogit[j]);
    for (int64_t i = 0; i < p.D; i += LANES) {
      store(ds + i, load(ds + i) + dl * (load(h + row + i) + load(w + row + i)));
      store(dh + row + i, load(dh + row + i) + dl * load(s + i));
    }
  }
}

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
    through_write(p, next, trace.x + t * size, g, trace.n + t * p.M, dh, dx, dlogit,
                  into.candidate + t * p.D, into);
    for (int64_t j = 0; j < p.M; j += LANES) {
      const vec open = load(g + j), dl = load(dlogit + j) * open * (splat(1.0f) - open);
      store(dlogit + j, dl);
      store(into.gate_bias + j, load(into.gate_bias + j) + dl);
    }
    through_gate(p, h, in.keys, in.gate + t * p.D, dlogit, dh, into.gate + t * p.D);
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
