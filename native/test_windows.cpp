// Trains and scores the simple network on windows on small random questions, for the sanitizers to watch: every
// array is allocated to its exact size. The Python tests compare what is computed with PyTorch; here it must be
// finite, and training must lower the loss.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "api.h"

extern "C" {
const char* entnet_windows_train(const EntnetWindowsNetwork*, const EntnetWindows*, EntnetWindowsTraining*);
const char* entnet_windows_score(const EntnetWindowsNetwork*, const EntnetWindows*, float*);
}

namespace {

constexpr int64_t kSlots = ENTNET_CANDIDATES;

using Floats = std::vector<float>;

uint64_t dice = 1;

int64_t draw(int64_t below) {
  dice = dice * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((dice >> 33) % (uint64_t)below);
}

Floats uniform(int64_t count, float scale) {
  Floats out((size_t)count);
  for (float& x : out) x = scale * ((float)draw(2001) - 1000.0f) / 1000.0f;
  return out;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

struct Questions {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> windows, candidates, queries, answers;

  // Words from `known` on are new. A question may have no window at all.
  Questions(int64_t count, int64_t window, int64_t query, int32_t known) {
    const int32_t words = known + 12;
    for (int64_t n = 0; n < count; ++n) {
      offsets.push_back(offsets.back() + draw(7));
      for (int64_t j = 0; j < kSlots; ++j) candidates.push_back(1 + (int32_t)draw(words - 1));
      for (int64_t i = 0; i < query; ++i) queries.push_back((int32_t)draw(words));
      answers.push_back((int32_t)draw(kSlots));
    }
    for (int64_t i = 0; i < offsets.back() * window; ++i) windows.push_back((int32_t)draw(words));
  }

  EntnetWindows view() const {
    const int64_t count = (int64_t)answers.size();
    return {count, offsets.back(), offsets.data(), windows.data(), candidates.data(), queries.data(), answers.data()};
  }
};

struct Parameters {
  Floats embedding, story, gate, question, bias;
  Floats embedding_squares, story_squares, gate_squares, question_squares, bias_squares;
  EntnetWindowsNetwork net;

  Parameters(int64_t width, int64_t query, int64_t known, int64_t oov_rows, bool biased, bool adaptive)
      : embedding(uniform((known + oov_rows) * width, 0.5f)),
        story(uniform(5 * width, 1.0f)),
        gate(uniform(5 * width, 1.0f)),
        question(uniform(query * width, 1.0f)),
        bias(biased ? kSlots : 0) {
    net = {};
    net.width = width, net.window = 5, net.query = query, net.known = known, net.oov_rows = oov_rows;
    net.embedding = embedding.data();
    net.story_mask = story.data(), net.gate_mask = gate.data(), net.question_mask = question.data();
    net.gate_bias = biased ? bias.data() : nullptr;
    for (int64_t k = 0; k < width; ++k) embedding[k] = 0;  // the null word
    if (!adaptive) return;
    embedding_squares.resize(embedding.size());
    story_squares.resize(story.size());
    gate_squares.resize(gate.size());
    question_squares.resize(question.size());
    bias_squares.resize(bias.size());
    net.embedding_squares = embedding_squares.data();
    net.story_squares = story_squares.data();
    net.gate_squares = gate_squares.data();
    net.question_squares = question_squares.data();
    net.bias_squares = biased ? bias_squares.data() : nullptr;
  }
};

double epoch(const Parameters& network, const Questions& data, double dropout, const Floats& keep) {
  const EntnetWindows view = data.view();
  std::vector<int64_t> order;
  for (int64_t n = view.count - 1; n >= 0; --n) order.push_back(n);
  EntnetWindowsTraining training = {};
  training.count = view.count;
  training.batch = 4;
  training.order = order.data();
  training.rate = 0.05;
  training.clip = 5;
  training.dropout = dropout;
  training.oov_probability = network.net.oov_rows ? 0.3 : 0.0;
  training.seed = 7;
  training.keep = keep.empty() ? nullptr : keep.data();
  require(!entnet_windows_train(&network.net, &view, &training), "training");
  require(std::isfinite(training.loss), "finite loss");
  require(training.errors >= 0 && training.errors <= view.count, "errors are some of the questions");
  return training.loss;
}

void run(int64_t width, int64_t query, int64_t oov_rows, bool biased, bool adaptive, bool own_keep) {
  const int64_t known = 40, count = 23;
  Questions data(count, 5, query, (int32_t)known);
  if (!oov_rows)  // new words are read as the null word, as the callers do
    for (auto* words : {&data.windows, &data.candidates, &data.queries})
      for (int32_t& word : *words) word = word < known ? word : 0;
  Parameters one(width, query, known, oov_rows, biased, adaptive);
  const Floats keep = own_keep ? Floats((size_t)(count * width), 1.0f) : Floats();
  const double dropout = own_keep ? 0.0 : 0.5;
  const double first = epoch(one, data, dropout, keep);
  double last = first;
  for (int n = 0; n < 30; ++n) last = epoch(one, data, dropout, keep);
  require(last < first, "training lowers the loss");

  const EntnetWindows view = data.view();
  Floats scores((size_t)(count * kSlots), NAN);
  require(!entnet_windows_score(&one.net, &view, scores.data()), "scoring");
  for (float score : scores) require(std::isfinite(score), "finite scores");
  for (int64_t k = 0; k < width; ++k) require(one.embedding[k] == 0, "the null word stays zero");

  data.answers[3] = kSlots;
  require(entnet_windows_score(&one.net, &view, scores.data()) != nullptr, "a bad answer is refused");
  data.answers[3] = 0;
  data.candidates[5] = -1;
  require(entnet_windows_score(&one.net, &view, scores.data()) != nullptr, "a bad word is refused");
  data.candidates[5] = 0;
  data.offsets[2] = data.offsets.back() + 1;
  require(entnet_windows_score(&one.net, &view, scores.data()) != nullptr, "bad offsets are refused");
}

}  // namespace

void test_windows() {
  dice = 1;
  for (int64_t width : {16, 48})
    for (int64_t query : {5, 21})
      for (int64_t oov_rows : {0, 1, 16})
        for (int options = 0; options < 8; ++options)
          run(width, query, oov_rows, options & 1, options & 2, options & 4);
}
