// The simple network on the Children's Book Test: U = V = 0, W = I, φ the identity, no normalisation, slots
// tied to a question's candidates, the attention over slots as the answer. A question touches about a hundred
// of the embedding's rows, so gradients are kept and applied for these alone.
//
//   s_t = Σ_i f_i ⊙ e_i            windows, as the candidate (story) and as the gate see them
//   g_j = σ(s_t·h_j + s_t·w_j + b_j),   h_j ← h_j + g_j s_t,   score_j = q·h_j
//
// Self-contained; plain C interface, called through ctypes from entnet/models/cbt/native.py. Rows of all
// float arrays are `width` long, a multiple of 16; what the network does not use of them is zero.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#define ENTNET_EXPORT extern "C" __attribute__((visibility("default")))
#if defined(ENTNET_X86) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define ENTNET_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ENTNET_CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

extern "C" {
// Words below `known` have a row of their own. A word from `known` on is new to the network, and takes one
// of the `fresh` rows that lie behind: always the same in scoring, another at every reading in training.
struct CbtNetwork {
  int64_t width, window, query, known, fresh;
  float *embedding, *story_mask, *gate_mask, *question_mask, *gate_bias;  // the bias may be null
  // AdaGrad's sums of squared gradients, like the parameters; null for plain gradient descent.
  float *embedding_squares, *story_squares, *gate_squares, *question_squares, *bias_squares;
};

struct CbtQuestions {
  int64_t count;
  const int64_t* offsets;     // (count + 1) where each question's windows start
  const int32_t* windows;     // (offsets[count], window)
  const int32_t* candidates;  // (count, 10)
  const int32_t* queries;     // (count, query)
  const int32_t* answers;     // (count) the answer's slot
};

struct CbtTraining {
  int64_t count, batch;  // questions to read, and how many make an update
  const int64_t* order;  // (count)
  double rate, clip, dropout;
  double disguise;    // how often a candidate is read as a word never seen before
  uint64_t seed;
  const float* keep;  // (count, width) factors of dropout; null to draw them
  double loss;        // out: summed over questions
  int64_t errors;     // out
};
}

namespace {

typedef float Lanes __attribute__((vector_size(64), aligned(4)));
typedef int32_t IntLanes __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16;
constexpr int64_t kSlots = 10;  // candidates of a question; a constant, so that loops over them unroll

INLINE Lanes load(const float* from) { return *(const Lanes*)from; }
INLINE void store(float* to, Lanes value) { *(Lanes*)to = value; }

// Lane j of the result is the sum of the lanes of vectors[j].
INLINE Lanes sum_each(Lanes* vectors) {
#if !defined(__clang__)
  const IntLanes even = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  const IntLanes odd = even + 1;
#endif
  for (int64_t left = kLanes; left > 1; left /= 2)
    for (int64_t i = 0; i < left / 2; ++i) {
      const Lanes a = vectors[2 * i], b = vectors[2 * i + 1];
#if defined(__clang__)
      vectors[i] = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
                   __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
      vectors[i] = __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, odd);
#endif
    }
  return vectors[0];
}

INLINE float dot(const float* a, const float* b, int64_t n) {
  Lanes sum = {};
  for (int64_t k = 0; k < n; k += kLanes) sum += load(a + k) * load(b + k);
  float total = 0;
  for (int64_t k = 0; k < kLanes; ++k) total += sum[k];
  return total;
}

INLINE void add(float* to, const float* from, float factor, int64_t n) {
  for (int64_t k = 0; k < n; k += kLanes) store(to + k, load(to + k) + factor * load(from + k));
}

// to += a ⊙ b
INLINE void add_product(float* to, const float* a, const float* b, int64_t n) {
  for (int64_t k = 0; k < n; k += kLanes) store(to + k, load(to + k) + load(a + k) * load(b + k));
}

INLINE void multiply(float* to, const float* by, int64_t n) {
  for (int64_t k = 0; k < n; k += kLanes) store(to + k, load(to + k) * load(by + k));
}

// σ(x), to within a few units in the last place: e^-|x| = 2^n e^r, with a polynomial for e^r.
INLINE Lanes sigmoid(Lanes x) {
  const Lanes away = x < 0.0f ? x : -x;
  const Lanes z = away < -80.0f ? away * 0 - 80.0f : away;
  const IntLanes n = __builtin_convertvector(z * 1.44269504088896341f - 0.5f, IntLanes);
  const Lanes whole = __builtin_convertvector(n, Lanes);
  const Lanes r = (z - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const Lanes e = p * (Lanes)((n + 127) << 23);
  const Lanes below = e / (1.0f + e);  // σ(-|x|)
  return x < 0.0f ? below : 1.0f - below;
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
struct Work {
  int64_t windows = 0;
  const int32_t *raw_windows = nullptr, *raw_candidates = nullptr, *raw_query = nullptr;
  std::vector<int32_t> words, candidates, query;
  std::vector<float> story, gate, keys, memory, question, gates, keep, scores;
  std::vector<float> d_story, d_gate, d_keys, d_memory, d_question;
};

struct Gradients {
  std::vector<float> embedding, story_mask, gate_mask, question_mask, gate_bias;
  std::vector<int32_t> touched;
  std::vector<unsigned char> is_touched;

  explicit Gradients(const CbtNetwork& net)
      : embedding((net.known + net.fresh) * net.width),
        story_mask(net.window * net.width),
        gate_mask(net.window * net.width),
        question_mask(net.query * net.width),
        gate_bias(kSlots),
        is_touched(net.known + net.fresh) {}

  float* row(int32_t word, int64_t width) {
    if (!is_touched[word]) {
      is_touched[word] = 1;
      touched.push_back(word);
    }
    return embedding.data() + word * width;
  }
};

void open_question(const CbtNetwork& net, const CbtQuestions& data, int64_t number, Work& work) {
  const int64_t first = data.offsets[number];
  work.windows = data.offsets[number + 1] - first;
  work.raw_windows = data.windows + first * net.window;
  work.raw_candidates = data.candidates + number * kSlots;
  work.raw_query = data.queries + number * net.query;
}

// From words to rows: new words, and candidates in disguise, get fresh rows, `shift` on from the first.
void choose_rows(const CbtNetwork& net, Work& work, uint64_t shift, const unsigned char* disguised) {
  auto row = [&](int32_t word) -> int32_t {
    if (disguised)
      for (int64_t j = 0; j < kSlots; ++j)
        if (disguised[j] && work.raw_candidates[j] == word)
          return (int32_t)(net.known + (shift + net.fresh - 1 - j) % net.fresh);
    if (word < net.known) return word;
    return (int32_t)(net.known + (shift + word - net.known) % net.fresh);
  };
  work.words.resize(work.windows * net.window);
  for (size_t k = 0; k < work.words.size(); ++k) work.words[k] = row(work.raw_windows[k]);
  work.candidates.resize(kSlots);
  for (int64_t j = 0; j < kSlots; ++j) work.candidates[j] = row(work.raw_candidates[j]);
  work.query.resize(net.query);
  for (int64_t i = 0; i < net.query; ++i) work.query[i] = row(work.raw_query[i]);
}

// Read a question; keep is null where nothing is dropped.
INLINE void forward(const CbtNetwork& net, Work& work, const float* keep) {
  const int64_t d = net.width, m = kSlots, T = work.windows;
  work.story.assign(T * d, 0);
  work.gate.assign(T * d, 0);
  work.keys.resize(m * d);
  work.question.assign(d, 0);
  work.gates.resize(T * kLanes);
  work.scores.resize(m);
  for (int64_t t = 0; t < T; ++t) {
    float *story = &work.story[t * d], *gate = &work.gate[t * d];
    for (int64_t i = 0; i < net.window; ++i) {
      const int32_t word = work.words[t * net.window + i];
      if (!word) continue;
      const float* e = net.embedding + word * d;
      add_product(story, e, net.story_mask + i * d, d);
      add_product(gate, e, net.gate_mask + i * d, d);
    }
    if (keep) multiply(story, keep, d), multiply(gate, keep, d);
  }
  for (int64_t j = 0; j < m; ++j) {
    float* key = &work.keys[j * d];
    std::memcpy(key, net.embedding + work.candidates[j] * d, d * sizeof(float));
    if (keep) multiply(key, keep, d);
  }
  for (int64_t i = 0; i < net.query; ++i)
    if (work.query[i])
      add_product(work.question.data(), net.embedding + work.query[i] * d, net.question_mask + i * d, d);
  if (keep) multiply(work.question.data(), keep, d);

  work.memory = work.keys;
  float *memory = work.memory.data(), *keys = work.keys.data();
  Lanes bias = {};
  if (net.gate_bias) std::memcpy(&bias, net.gate_bias, m * sizeof(float));
  for (int64_t t = 0; t < T; ++t) {
    const float *story = &work.story[t * d], *gate = &work.gate[t * d];
    Lanes sums[kLanes] = {};
    for (int64_t k = 0; k < d; k += kLanes) {
      const Lanes s = load(gate + k);
      for (int64_t j = 0; j < m; ++j) sums[j] += s * (load(memory + j * d + k) + load(keys + j * d + k));
    }
    const Lanes g = sigmoid(sum_each(sums) + bias);
    store(&work.gates[t * kLanes], g);
    for (int64_t k = 0; k < d; k += kLanes) {
      const Lanes c = load(story + k);
      for (int64_t j = 0; j < m; ++j) store(memory + j * d + k, load(memory + j * d + k) + g[j] * c);
    }
  }
  for (int64_t j = 0; j < m; ++j) work.scores[j] = dot(work.question.data(), &work.memory[j * d], d);
}

// Turn scores into probabilities; the loss of this answer, and whether another scores higher.
double settle(std::vector<float>& scores, int32_t answer, bool& wrong) {
  float best = scores[0];
  size_t first = 0;
  for (size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > best) best = scores[j], first = j;
  wrong = (int32_t)first != answer;
  double total = 0;
  const double margin = (double)scores[answer] - best;
  for (float& score : scores) total += score = std::exp(score - best);
  for (float& score : scores) score = (float)(score / total);
  return std::log(total) - margin;
}

// Gradients of a question's loss; its scores have been settled.
INLINE void backward(const CbtNetwork& net, Work& work, int32_t answer, const float* keep, Gradients& to) {
  const int64_t d = net.width, m = kSlots, T = work.windows;
  work.d_question.assign(d, 0);
  work.d_memory.assign(m * d, 0);
  work.d_keys.assign(m * d, 0);
  work.d_story.assign(d, 0);
  work.d_gate.assign(d, 0);
  for (int64_t j = 0; j < m; ++j) {
    const float error = work.scores[j] - (j == answer ? 1.0f : 0.0f);
    add(work.d_question.data(), &work.memory[j * d], error, d);
    add(&work.d_memory[j * d], work.question.data(), error, d);
  }
  float *d_story = work.d_story.data(), *d_gate = work.d_gate.data();
  float *memory = work.memory.data(), *d_memory = work.d_memory.data(), *d_keys = work.d_keys.data();
  const float* keys = work.keys.data();
  for (int64_t t = T - 1; t >= 0; --t) {
    const float *story = &work.story[t * d], *gate = &work.gate[t * d];
    Lanes sums[kLanes] = {};
    for (int64_t k = 0; k < d; k += kLanes) {
      const Lanes c = load(story + k);
      for (int64_t j = 0; j < m; ++j) sums[j] += c * load(d_memory + j * d + k);
    }
    const Lanes g = load(&work.gates[t * kLanes]);
    const Lanes d_logit = sum_each(sums) * g * (1.0f - g);
    if (net.gate_bias)
      for (int64_t j = 0; j < m; ++j) to.gate_bias[j] += d_logit[j];
    for (int64_t k = 0; k < d; k += kLanes) {
      const Lanes s = load(gate + k), c = load(story + k);
      Lanes to_story = {}, to_gate = {};
      for (int64_t j = 0; j < m; ++j) {
        const int64_t at = j * d + k;
        const Lanes before = load(memory + at) - g[j] * c;  // the memory before this window
        const Lanes dh = load(d_memory + at), through = d_logit[j] * s;
        to_story += g[j] * dh;
        to_gate += d_logit[j] * (before + load(keys + at));
        store(memory + at, before);
        store(d_memory + at, dh + through);
        store(d_keys + at, load(d_keys + at) + through);
      }
      store(d_story + k, to_story);
      store(d_gate + k, to_gate);
    }
    if (keep) multiply(d_story, keep, d), multiply(d_gate, keep, d);
    for (int64_t i = 0; i < net.window; ++i) {
      const int32_t word = work.words[t * net.window + i];
      if (!word) continue;
      const float* e = net.embedding + word * d;
      float* de = to.row(word, d);
      add_product(de, d_story, net.story_mask + i * d, d);
      add_product(de, d_gate, net.gate_mask + i * d, d);
      add_product(&to.story_mask[i * d], d_story, e, d);
      add_product(&to.gate_mask[i * d], d_gate, e, d);
    }
  }
  for (int64_t j = 0; j < m; ++j) {
    float* dw = &work.d_keys[j * d];
    add(dw, &work.d_memory[j * d], 1.0f, d);
    if (keep) multiply(dw, keep, d);
    if (work.candidates[j]) add(to.row(work.candidates[j], d), dw, 1.0f, d);
  }
  if (keep) multiply(work.d_question.data(), keep, d);
  for (int64_t i = 0; i < net.query; ++i) {
    const int32_t word = work.query[i];
    if (!word) continue;
    add_product(to.row(word, d), work.d_question.data(), net.question_mask + i * d, d);
    add_product(&to.question_mask[i * d], work.d_question.data(), net.embedding + word * d, d);
  }
}

// A step down the gradient, which is scaled by `factor` first, and is zero after.
INLINE void descend(float* parameters, float* squares, float* gradient, int64_t n, float rate, float factor) {
  for (int64_t k = 0; k < n; ++k) {
    const float g = gradient[k] * factor;
    gradient[k] = 0;
    if (squares) {
      squares[k] += g * g;
      parameters[k] -= rate * g / (std::sqrt(squares[k]) + 1e-8f);
    } else {
      parameters[k] -= rate * g;
    }
  }
}

double square(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += (double)value * value;
  return sum;
}

INLINE void update(const CbtNetwork& net, Gradients& to, double rate, double clip) {
  const int64_t d = net.width;
  double norm = square(to.story_mask) + square(to.gate_mask) + square(to.question_mask) + square(to.gate_bias);
  for (int32_t word : to.touched) norm += dot(&to.embedding[word * d], &to.embedding[word * d], d);
  norm = std::sqrt(norm);
  const float by = (float)rate, factor = (float)(clip > 0 && norm > clip ? clip / norm : 1.0);
  for (int32_t word : to.touched) {
    float* squares = net.embedding_squares ? net.embedding_squares + word * d : nullptr;
    descend(net.embedding + word * d, squares, &to.embedding[word * d], d, by, factor);
    to.is_touched[word] = 0;
  }
  to.touched.clear();
  const int64_t n = net.window * d;
  descend(net.story_mask, net.story_squares, to.story_mask.data(), n, by, factor);
  descend(net.gate_mask, net.gate_squares, to.gate_mask.data(), n, by, factor);
  descend(net.question_mask, net.question_squares, to.question_mask.data(), net.query * d, by, factor);
  if (net.gate_bias) descend(net.gate_bias, net.bias_squares, to.gate_bias.data(), kSlots, by, factor);
}

ENTNET_CLONES void learn(const CbtNetwork& net, Work& work, int32_t answer, const float* keep, Gradients& to,
                         CbtTraining& training) {
  forward(net, work, keep);
  bool wrong = false;
  training.loss += settle(work.scores, answer, wrong);
  training.errors += wrong;
  backward(net, work, answer, keep, to);
}

ENTNET_CLONES void apply(const CbtNetwork& net, Gradients& to, double rate, double clip) {
  update(net, to, rate, clip);
}

ENTNET_CLONES void answer(const CbtNetwork& net, Work& work) { forward(net, work, nullptr); }

}  // namespace

// Raised when the structures above change; Python refuses a library of another version.
ENTNET_EXPORT int64_t entnet_cbt_version() { return 3; }

// Read questions in the given order, with an update after every `batch` of them.
ENTNET_EXPORT void entnet_cbt_train(const CbtNetwork* net, const CbtQuestions* data, CbtTraining* training) {
  Gradients gradients(*net);
  Work work;
  Random random{training->seed};
  work.keep.resize(net->width);
  std::vector<unsigned char> disguised(kSlots);
  const float kept = training->dropout < 1 ? (float)(1 / (1 - training->dropout)) : 0.0f;
  training->loss = 0;
  training->errors = 0;
  for (int64_t n = 0; n < training->count; ++n) {
    const int64_t number = training->order[n];
    open_question(*net, *data, number, work);
    const uint64_t shift = net->fresh ? random.next() % net->fresh : 0;
    bool any = false;
    if (training->disguise > 0 && net->fresh)
      for (auto& hidden : disguised) any |= hidden = random.uniform() < training->disguise;
    choose_rows(*net, work, shift, any ? disguised.data() : nullptr);
    const float* keep = training->keep ? training->keep + n * net->width : nullptr;
    if (!keep && training->dropout > 0) {
      for (float& factor : work.keep) factor = random.uniform() < training->dropout ? 0.0f : kept;
      keep = work.keep.data();
    }
    learn(*net, work, data->answers[number], keep, gradients, *training);
    if ((n + 1) % training->batch == 0 || n + 1 == training->count)
      apply(*net, gradients, training->rate, training->clip);
  }
}

// Scores (count, 10) of `count` questions from `first` on.
ENTNET_EXPORT void entnet_cbt_score(const CbtNetwork* net, const CbtQuestions* data, int64_t first, int64_t count,
                                    float* scores) {
  Work work;
  for (int64_t n = 0; n < count; ++n) {
    open_question(*net, *data, first + n, work);
    choose_rows(*net, work, 0, nullptr);
    answer(*net, work);
    std::memcpy(scores + n * kSlots, work.scores.data(), kSlots * sizeof(float));
  }
}
