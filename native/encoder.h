// (1)  s = Σ_i f_i ⊙ e_i, and where its gradient goes.
#pragma once

#include "simd.h"

namespace ENTNET_ISA {

struct Embedding {
  const float* rows;  // (|V|, d), dense; row 0, the null word, is zero
  int64_t d, D;
};

// Gradients of embeddings: rows are cleared when first touched, so that the cost of a step does not grow
// with the vocabulary.
struct EmbeddingGradient {
  float* rows;       // (|V|, D)
  int32_t* stamp;    // (|V|) the step in which the row was last cleared
  int64_t* touched;  // rows of this step, in order of first use
  int64_t* count;
  int32_t now;

  float* row(int64_t word, int64_t D) const {
    float* out = rows + word * D;
    if (stamp[word] != now) {
      stamp[word] = now;
      touched[(*count)++] = word;
      fill_zero(out, D);
    }
    return out;
  }
};

// Applies f(i, e) to every vector of a dense row; the last one may be partial.
template <typename F>
ENTNET_INLINE void for_row(const float* e, int64_t d, F f) {
  int64_t i = 0;
  for (; i + LANES <= d; i += LANES) f(i, load_any(e + i));
  if (i < d) f(i, load_part(e + i, d - i));
}

// mask (L, D), or null for a bag of words; keep (D), or null: dimensions that dropout keeps, scaled.
static void encode(const Embedding& table, const int64_t* words, int64_t L, const float* mask,
                   const float* keep, float* out) {
  fill_zero(out, table.D);
  for (int64_t l = 0; l < L; ++l) {
    if (words[l] == 0) continue;
    const float* f = mask ? mask + l * table.D : nullptr;
    for_row(table.rows + words[l] * table.d, table.d, [&](int64_t i, vec e) {
      store(out + i, load(out + i) + (f ? e * load(f + i) : e));
    });
  }
  if (!keep) return;
  for (int64_t i = 0; i < table.D; i += LANES) store(out + i, load(out + i) * load(keep + i));
}

// ds is scaled by `keep` in place. dmask may be null.
static void encode_backward(const Embedding& table, const int64_t* words, int64_t L, const float* mask,
                            const float* keep, float* ds, const EmbeddingGradient& into, float* dmask) {
  const int64_t D = table.D;
  if (keep)
    for (int64_t i = 0; i < D; i += LANES) store(ds + i, load(ds + i) * load(keep + i));
  for (int64_t l = 0; l < L; ++l) {
    float* de = into.row(words[l], D);
    if (mask) {
      const float* f = mask + l * D;
      for (int64_t i = 0; i < D; i += LANES) store(de + i, load(de + i) + load(ds + i) * load(f + i));
    } else {
      for (int64_t i = 0; i < D; i += LANES) store(de + i, load(de + i) + load(ds + i));
    }
    if (!dmask || words[l] == 0) continue;
    float* df = dmask + l * D;
    for_row(table.rows + words[l] * table.d, table.d,
            [&](int64_t i, vec e) { store(df + i, load(df + i) + load(ds + i) * e); });
  }
}

}  // namespace ENTNET_ISA
