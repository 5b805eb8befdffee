// The simple network on windows of words, as the Children's Book Test has them: U = V = 0, W = I, φ the
// identity, no normalisation, slots tied to a question's candidates, the attention over slots as the answer.
// A question touches about a hundred of the embedding's rows, so gradients are kept and applied for these alone.
//
//   s_t = Σ_i f_i ⊙ e_i            windows, as the candidate (story) and as the gate see them
//   g_j = σ(s_t·h_j + s_t·w_j + b_j),   h_j ← h_j + g_j s_t,   score_j = q·h_j
//
// Rows of all float arrays are `width` long, a multiple of ALIGN; what the network does not use of them is zero.
// The caller's arrays begin anywhere, those of the work space at whole vectors.
#pragma once

#include "kernel.h"
#include "optimiser.h"

namespace ENTNET_ISA {

constexpr int64_t SLOTS = ENTNET_CANDIDATES;  // a constant, so that loops over slots unroll
constexpr int64_t GATES = (SLOTS + ALIGN - 1) / ALIGN * ALIGN;

// to += a ⊙ b, of which b is the caller's
ENTNET_INLINE void add_product(float* to, const float* a, const float* b, int64_t n) {
  for (int64_t k = 0; k < n; k += LANES) store(to + k, load(to + k) + load(a + k) * load_any(b + k));
}

ENTNET_INLINE void multiply(float* to, const float* by, int64_t n) {
  for (int64_t k = 0; k < n; k += LANES) store(to + k, load(to + k) * load_any(by + k));
}

// out[j] = the sum of vectors[j]; zeros from SLOTS on.
ENTNET_INLINE void sum_slots(const vec* vectors, float* out) {
  fill_zero(out, GATES);
  int64_t j = 0;
#pragma GCC unroll 8
  for (; j + 4 <= SLOTS; j += 4) hsum4(vectors[j], vectors[j + 1], vectors[j + 2], vectors[j + 3], out + j);
#pragma GCC unroll 4
  for (; j < SLOTS; ++j) out[j] = hsum(vectors[j]);
}

struct Random {  // splitmix64
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return (double)(next() >> 11) * 0x1.0p-53; }
};

// A question with its words as rows of the embedding, and all that reading it leaves behind.
struct WindowsWork {
  int64_t windows;                           // T, of this question
  const int32_t *raw_windows, *raw_candidates, *raw_query;
  int32_t *words, *candidates, *query;       // (T, window), (SLOTS), (query)
  float *story, *gate;                       // (T, D)
  float *keys, *memory, *d_keys, *d_memory;  // (SLOTS, D)
  float *question, *d_question, *d_story, *d_gate, *keep;  // (D)
  float* gates;                              // (T, GATES)
  float *bias, *scores, *d_logit;            // (GATES)
};

static void cut_work(Cutter& cut, const EntnetWindowsNetwork& net, int64_t longest, WindowsWork& out) {
  const int64_t D = net.width;
  out.words = static_cast<int32_t*>(cut.bytes((size_t)(longest * net.window) * sizeof(int32_t)));
  out.candidates = static_cast<int32_t*>(cut.bytes(SLOTS * sizeof(int32_t)));
  out.query = static_cast<int32_t*>(cut.bytes((size_t)net.query * sizeof(int32_t)));
  out.story = cut.floats(longest * D);
  out.gate = cut.floats(longest * D);
  float** const memories[] = {&out.keys, &out.memory, &out.d_keys, &out.d_memory};
  for (float** piece : memories) *piece = cut.floats(SLOTS * D);
  float** const rows[] = {&out.question, &out.d_question, &out.d_story, &out.d_gate, &out.keep};
  for (float** piece : rows) *piece = cut.floats(D);
  out.gates = cut.floats(longest * GATES);
  float** const slots[] = {&out.bias, &out.scores, &out.d_logit};
  for (float** piece : slots) *piece = cut.floats(GATES);
}

// Room for the longest of these questions.
static WindowsWork windows_work(const EntnetWindowsNetwork& net, const EntnetWindows& data, Workspace* space) {
  int64_t longest = 0;
  for (int64_t q = 0; q < data.count; ++q) {
    const int64_t windows = data.offsets[q + 1] - data.offsets[q];
    longest = windows > longest ? windows : longest;
  }
  WindowsWork out{};
  Cutter measure;
  cut_work(measure, net, longest, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_work(cut, net, longest, out);
  return out;
}

struct WindowsGradients {
  float *embedding, *story_mask, *gate_mask, *question_mask, *gate_bias;
  int32_t* touched;           // rows of the embedding that have a gradient
  int64_t count;              // of these
  unsigned char* is_touched;  // by row

  float* row(int32_t word, int64_t width) {
    if (!is_touched[word]) {
      is_touched[word] = 1;
      touched[count++] = word;
    }
    return embedding + word * width;
  }
};

static void cut_gradients(Cutter& cut, const EntnetWindowsNetwork& net, WindowsGradients& out) {
  const int64_t rows = net.known + net.oov_rows, D = net.width;
  out.embedding = cut.floats(rows * D);
  out.story_mask = cut.floats(net.window * D);
  out.gate_mask = cut.floats(net.window * D);
  out.question_mask = cut.floats(net.query * D);
  out.gate_bias = cut.floats(GATES);
  out.touched = static_cast<int32_t*>(cut.bytes((size_t)rows * sizeof(int32_t)));
  out.is_touched = static_cast<unsigned char*>(cut.bytes((size_t)rows));
}

static WindowsGradients windows_gradients(const EntnetWindowsNetwork& net, Workspace* space) {
  const int64_t rows = net.known + net.oov_rows, D = net.width;
  WindowsGradients out{};
  Cutter measure;
  cut_gradients(measure, net, out);
  Cutter cut{reserve(&space->embeddings[0], measure.at)};
  cut_gradients(cut, net, out);
  fill_zero(out.embedding, rows * D);
  fill_zero(out.story_mask, net.window * D);
  fill_zero(out.gate_mask, net.window * D);
  fill_zero(out.question_mask, net.query * D);
  fill_zero(out.gate_bias, GATES);
  memset(out.is_touched, 0, (size_t)rows);
  return out;
}

static void open_question(const EntnetWindowsNetwork& net, const EntnetWindows& data, int64_t number,
                          WindowsWork& work) {
  const int64_t first = data.offsets[number];
  work.windows = data.offsets[number + 1] - first;
  work.raw_windows = data.windows + first * net.window;
  work.raw_candidates = data.candidates + number * SLOTS;
  work.raw_query = data.queries + number * net.query;
}

// From words to rows: new words, and candidates read as new ones, get OOV rows, `shift` on from the first.
static void choose_rows(const EntnetWindowsNetwork& net, WindowsWork& work, uint64_t shift,
                        const bool* as_oov) {
  const uint64_t oov_rows = (uint64_t)net.oov_rows;
  auto row = [&](int32_t word) -> int32_t {
    if (as_oov)
      for (int64_t j = 0; j < SLOTS; ++j)
        if (as_oov[j] && work.raw_candidates[j] == word)
          return (int32_t)(net.known + (int64_t)((shift + oov_rows - 1 - (uint64_t)j) % oov_rows));
    if (word < net.known) return word;
    return (int32_t)(net.known + (int64_t)((shift + (uint64_t)(word - net.known)) % oov_rows));
  };
  for (int64_t k = 0; k < work.windows * net.window; ++k) work.words[k] = row(work.raw_windows[k]);
  for (int64_t j = 0; j < SLOTS; ++j) work.candidates[j] = row(work.raw_candidates[j]);
  for (int64_t i = 0; i < net.query; ++i) work.query[i] = row(work.raw_query[i]);
}

// Windows, keys and the question from their words; keep is null where nothing is dropped.
static void encode_question(const EntnetWindowsNetwork& net, WindowsWork& work, const float* keep) {
  const int64_t D = net.width;
  for (int64_t t = 0; t < work.windows; ++t) {
    float *story = work.story + t * D, *gate = work.gate + t * D;
    fill_zero(story, D);
    fill_zero(gate, D);
    for (int64_t i = 0; i < net.window; ++i) {
      const int32_t word = work.words[t * net.window + i];
      if (!word) continue;
      const float *e = net.embedding + word * D, *f = net.story_mask + i * D, *f_gate = net.gate_mask + i * D;
      for (int64_t k = 0; k < D; k += LANES) {
        const vec value = load_any(e + k);
        store(story + k, load(story + k) + value * load_any(f + k));
        store(gate + k, load(gate + k) + value * load_any(f_gate + k));
      }
    }
    if (keep) multiply(story, keep, D), multiply(gate, keep, D);
  }
  for (int64_t j = 0; j < SLOTS; ++j) {
    float* key = work.keys + j * D;
    pad_row(key, net.embedding + work.candidates[j] * D, D, D);
    if (keep) multiply(key, keep, D);
  }
  fill_zero(work.question, D);
  for (int64_t i = 0; i < net.query; ++i) {
    if (!work.query[i]) continue;
    const float *e = net.embedding + work.query[i] * D, *f = net.question_mask + i * D;
    for (int64_t k = 0; k < D; k += LANES)
      store(work.question + k, load(work.question + k) + load_any(e + k) * load_any(f + k));
  }
  if (keep) multiply(work.question, keep, D);
}

static void read_question(const EntnetWindowsNetwork& net, WindowsWork& work, const float* keep) {
  const int64_t D = net.width;
  encode_question(net, work, keep);
  memcpy(work.memory, work.keys, (size_t)(SLOTS * D) * sizeof(float));
  fill_zero(work.bias, GATES);
  if (net.gate_bias) memcpy(work.bias, net.gate_bias, SLOTS * sizeof(float));
  float* memory = work.memory;
  const float* keys = work.keys;
  for (int64_t t = 0; t < work.windows; ++t) {
    const float *story = work.story + t * D, *gate = work.gate + t * D;
    float* g = work.gates + t * GATES;
    vec sums[SLOTS] = {};
    for (int64_t k = 0; k < D; k += LANES) {
      const vec s = load(gate + k);
#pragma GCC unroll 16
      for (int64_t j = 0; j < SLOTS; ++j) sums[j] += s * (load(memory + j * D + k) + load(keys + j * D + k));
    }
    sum_slots(sums, g);
    for (int64_t j = 0; j < GATES; j += LANES) store(g + j, sigmoid(load(g + j) + load(work.bias + j)));
    for (int64_t k = 0; k < D; k += LANES) {
      const vec c = load(story + k);
#pragma GCC unroll 16
      for (int64_t j = 0; j < SLOTS; ++j)
        store(memory + j * D + k, load(memory + j * D + k) + splat(g[j]) * c);
    }
  }
  for (int64_t j = 0; j < SLOTS; ++j) work.scores[j] = dot(work.question, memory + j * D, D);
}

// Turn scores into probabilities; the loss of this answer, and whether another scores higher.
static double settle(float* scores, int32_t answer, bool& wrong) {
  int64_t best = 0;
  for (int64_t j = 1; j < SLOTS; ++j)
    if (scores[j] > scores[best]) best = j;
  wrong = best != answer;
  const float highest = scores[best];
  const double margin = (double)scores[answer] - highest;
  double total = 0;
  for (int64_t j = 0; j < SLOTS; ++j) total += scores[j] = expf(scores[j] - highest);
  for (int64_t j = 0; j < SLOTS; ++j) scores[j] = (float)(scores[j] / total);
  return log(total) - margin;
}

// Back through one window: the memory before it, and gradients of how candidate and gate see it.
static void window_backward(const WindowsWork& work, int64_t t, int64_t D) {
  const float *story = work.story + t * D, *gate = work.gate + t * D, *g = work.gates + t * GATES;
  float *memory = work.memory, *d_memory = work.d_memory, *d_keys = work.d_keys, *d_logit = work.d_logit;
  vec sums[SLOTS] = {};
  for (int64_t k = 0; k < D; k += LANES) {
    const vec c = load(story + k);
#pragma GCC unroll 16
    for (int64_t j = 0; j < SLOTS; ++j) sums[j] += c * load(d_memory + j * D + k);
  }
  sum_slots(sums, d_logit);
  for (int64_t j = 0; j < GATES; j += LANES) {
    const vec open = load(g + j);
    store(d_logit + j, load(d_logit + j) * open * (splat(1.0f) - open));
  }
  for (int64_t k = 0; k < D; k += LANES) {
    const vec s = load(gate + k), c = load(story + k);
    vec to_story = zero(), to_gate = zero();
#pragma GCC unroll 16
    for (int64_t j = 0; j < SLOTS; ++j) {
      const int64_t at = j * D + k;
      const vec open = splat(g[j]), slope = splat(d_logit[j]);
      const vec before = load(memory + at) - open * c;
      const vec dh = load(d_memory + at), through = slope * s;
      to_story += open * dh;
      to_gate += slope * (before + load(work.keys + at));
      store(memory + at, before);
      store(d_memory + at, dh + through);
      store(d_keys + at, load(d_keys + at) + through);
    }
    store(work.d_story + k, to_story);
    store(work.d_gate + k, to_gate);
  }
}

// Gradients of a window's words and of the masks.
static void words_backward(const EntnetWindowsNetwork& net, const WindowsWork& work, int64_t t,
                           WindowsGradients& to) {
  const int64_t D = net.width;
  for (int64_t i = 0; i < net.window; ++i) {
    const int32_t word = work.words[t * net.window + i];
    if (!word) continue;
    const float *e = net.embedding + word * D, *f = net.story_mask + i * D, *f_gate = net.gate_mask + i * D;
    float *de = to.row(word, D), *df = to.story_mask + i * D, *df_gate = to.gate_mask + i * D;
    for (int64_t k = 0; k < D; k += LANES) {
      const vec ds = load(work.d_story + k), dg = load(work.d_gate + k), value = load_any(e + k);
      store(de + k, load(de + k) + ds * load_any(f + k) + dg * load_any(f_gate + k));
      store(df + k, load(df + k) + ds * value);
      store(df_gate + k, load(df_gate + k) + dg * value);
    }
  }
}

// Gradients of a question's loss; its scores have been settled.
static void question_backward(const EntnetWindowsNetwork& net, WindowsWork& work, int32_t answer,
                              const float* keep, WindowsGradients& to) {
  const int64_t D = net.width;
  fill_zero(work.d_question, D);
  fill_zero(work.d_memory, SLOTS * D);
  fill_zero(work.d_keys, SLOTS * D);
  for (int64_t j = 0; j < SLOTS; ++j) {
    const float error = work.scores[j] - (j == answer ? 1.0f : 0.0f);
    axpy(work.d_question, error, work.memory + j * D, D);
    axpy(work.d_memory + j * D, error, work.question, D);
  }
  for (int64_t t = work.windows - 1; t >= 0; --t) {
    window_backward(work, t, D);
    if (net.gate_bias) axpy(to.gate_bias, 1.0f, work.d_logit, GATES);
    if (keep) multiply(work.d_story, keep, D), multiply(work.d_gate, keep, D);
    words_backward(net, work, t, to);
  }
  for (int64_t j = 0; j < SLOTS; ++j) {
    float* dw = work.d_keys + j * D;
    axpy(dw, 1.0f, work.d_memory + j * D, D);
    if (keep) multiply(dw, keep, D);
    if (work.candidates[j]) axpy(to.row(work.candidates[j], D), 1.0f, dw, D);
  }
  if (keep) multiply(work.d_question, keep, D);
  for (int64_t i = 0; i < net.query; ++i) {
    const int32_t word = work.query[i];
    if (!word) continue;
    add_product(to.row(word, D), work.d_question, net.question_mask + i * D, D);
    add_product(to.question_mask + i * D, work.d_question, net.embedding + word * D, D);
  }
}

// One vector's step down the gradient, by AdaGrad's rule where there are sums of squares.
ENTNET_INLINE vec stepped(vec parameters, vec* squares, vec g, vec rate) {
  if (!squares) return parameters - rate * g;
  *squares += g * g;
  return parameters - rate * g / (vsqrt(*squares) + splat(1e-8f));
}

// A step down the gradient, which is scaled by `factor` first, and is zero after.
static void descend(float* parameters, float* squares, float* gradient, int64_t n, float rate, float factor) {
  int64_t k = 0;
  for (; k + LANES <= n; k += LANES) {
    vec sums = squares ? load_any(squares + k) : zero();
    const vec g = load(gradient + k) * splat(factor);
    store_any(parameters + k, stepped(load_any(parameters + k), squares ? &sums : nullptr, g, splat(rate)));
    if (squares) store_any(squares + k, sums);
  }
  if (k < n) {  // the gate's bias alone is not padded
    vec sums = squares ? load_part(squares + k, n - k) : zero();
    const vec g = load(gradient + k) * splat(factor), before = load_part(parameters + k, n - k);
    store_part(parameters + k, stepped(before, squares ? &sums : nullptr, g, splat(rate)), n - k);
    if (squares) store_part(squares + k, sums, n - k);
  }
  fill_zero(gradient, n);
}

static void update_windows(const EntnetWindowsNetwork& net, WindowsGradients& to, double rate, double clip) {
  const int64_t D = net.width, n = net.window * D, n_query = net.query * D;
  double norm = sum_of_squares(to.story_mask, n) + sum_of_squares(to.gate_mask, n) +
                sum_of_squares(to.question_mask, n_query) + sum_of_squares(to.gate_bias, SLOTS);
  for (int64_t i = 0; i < to.count; ++i) {
    const float* row = to.embedding + to.touched[i] * D;
    norm += dot(row, row, D);
  }
  norm = sqrt(norm);
  const float by = (float)rate, factor = (float)(clip > 0 && norm > clip ? clip / norm : 1.0);
  for (int64_t i = 0; i < to.count; ++i) {
    const int64_t word = to.touched[i], at = word * D;
    float* squares = net.embedding_squares ? net.embedding_squares + at : nullptr;
    descend(net.embedding + at, squares, to.embedding + at, D, by, factor);
    to.is_touched[word] = 0;
  }
  to.count = 0;
  descend(net.story_mask, net.story_squares, to.story_mask, n, by, factor);
  descend(net.gate_mask, net.gate_squares, to.gate_mask, n, by, factor);
  descend(net.question_mask, net.question_squares, to.question_mask, n_query, by, factor);
  if (net.gate_bias) descend(net.gate_bias, net.bias_squares, to.gate_bias, SLOTS, by, factor);
}

// Read questions in the given order, with an update after every `batch` of them. What is drawn, and in which
// order, is part of every published result: a shift of the OOV rows, candidates read as new, dropout's factors.
static void windows_train(const EntnetWindowsNetwork* network, const EntnetWindows* data,
                          EntnetWindowsTraining* training, Workspace* space) {
  const FlushDenormals flush;
  const EntnetWindowsNetwork& net = *network;
  WindowsGradients gradients = windows_gradients(net, space);
  WindowsWork work = windows_work(net, *data, space);
  Random random{(uint64_t)training->seed};
  bool as_oov[SLOTS] = {};
  const float kept = (float)(1 / (1 - training->dropout));
  training->loss = 0;
  training->errors = 0;
  for (int64_t n = 0; n < training->count; ++n) {
    const int64_t number = training->order[n];
    open_question(net, *data, number, work);
    const uint64_t shift = net.oov_rows ? random.next() % (uint64_t)net.oov_rows : 0;
    bool any = false;
    if (training->oov_probability > 0 && net.oov_rows)
      for (bool& hidden : as_oov) any |= hidden = random.uniform() < training->oov_probability;
    choose_rows(net, work, shift, any ? as_oov : nullptr);
    const float* keep = training->keep ? training->keep + n * net.width : nullptr;
    if (!keep && training->dropout > 0) {
      for (int64_t k = 0; k < net.width; ++k)
        work.keep[k] = random.uniform() < training->dropout ? 0.0f : kept;
      keep = work.keep;
    }
    read_question(net, work, keep);
    bool wrong = false;
    training->loss += settle(work.scores, data->answers[number], wrong);
    training->errors += wrong;
    question_backward(net, work, data->answers[number], keep, gradients);
    if ((n + 1) % training->batch == 0 || n + 1 == training->count)
      update_windows(net, gradients, training->rate, training->clip);
  }
}

// Scores (count, SLOTS) of all questions.
static void windows_score(const EntnetWindowsNetwork* net, const EntnetWindows* data, float* scores,
                          Workspace* space) {
  const FlushDenormals flush;
  WindowsWork work = windows_work(*net, *data, space);
  for (int64_t n = 0; n < data->count; ++n) {
    open_question(*net, *data, n, work);
    choose_rows(*net, work, 0, nullptr);
    read_question(*net, work, nullptr);
    memcpy(scores + n * SLOTS, work.scores, SLOTS * sizeof(float));
  }
}

}  // namespace ENTNET_ISA
