// One story through the whole network: encode, scan, read, score, and all the way back.
#pragma once

#include "network.h"

namespace ENTNET_ISA {

// Gradients that a thread sums over its stories, padded like the weights.
struct Sums {
  float *story_mask, *question_mask, *gate_mask;
  float *U, *V, *W, *H, *R;
  float *slope, *read_slope, *gate_bias, *bias, *keys, *key_input;
  float* start;
  int64_t size;
};

// A thread's room for the story in hand.
struct StorySpace {
  float *sentences, *gate, *candidate;      // (T, D)
  float *dsentences, *dgate, *dcandidate;   // (T, D)
  unsigned char* closed;                    // (T)
  float *keys, *key_input, *keep;           // (m, D), (m, D), (D)
  StoryTrace trace;
  ScanScratch scratch;
  Reading reading;
  const float** memory_read;  // (Q)
  const int64_t** answers;    // (Q)
  int64_t** predictions;      // (Q)
  Sums sums;
  EmbeddingGradient embedding;
};

static void cut_sums(Cutter& cut, const EntnetModel& model, const Network& net, Sums& out) {
  const int64_t square = net.d * net.D, mask = net.L * net.D;
  const size_t start = cut.at;
  cut.gaps = false;  // they are cleared and added as one
  out.start = cut.floats(0);
  out.story_mask = model.story_mask >= 0 ? cut.floats(mask) : nullptr;
  out.question_mask = model.question_mask >= 0 ? cut.floats(mask) : out.story_mask;
  out.gate_mask = model.gate_mask >= 0 ? cut.floats(mask) : nullptr;
  out.U = model.matrix_U == ENTNET_TRAINED ? cut.floats(square) : nullptr;
  out.V = net.matrix_V ? cut.floats(square) : nullptr;
  out.W = net.matrix_W ? cut.floats(square) : nullptr;
  out.H = net.read.over_slots ? nullptr : cut.floats(square);
  out.R = net.read.over_slots ? nullptr : cut.floats(net.V * net.D);
  out.slope = cut.floats(net.D);
  out.read_slope = model.read_slope >= 0 ? cut.floats(net.D) : out.slope;
  out.gate_bias = cut.floats(net.M);
  out.bias = cut.floats(net.D);
  out.keys = cut.floats(net.m * net.D);
  out.key_input = cut.floats(net.m * net.D);
  out.size = (int64_t)((cut.at - start) / sizeof(float));
  cut.gaps = true;
}

static void cut_reading(Cutter& cut, const Network& net, int64_t Q, Reading& out) {
  float** const rows[] = {&out.q, &out.u, &out.z, &out.v, &out.dv, &out.du, &out.dq};
  for (float** row : rows) *row = cut.floats(Q * net.D);
  out.p = cut.floats(Q * net.M);
  out.dscore = cut.floats(Q * net.M);
  out.y = cut.floats(Q * net.read.A);
}

static void cut_story(Cutter& cut, const EntnetModel& model, const Network& net, int64_t T, int64_t Q,
                      bool training, StorySpace& out) {
  const int64_t row = net.D, size = net.m * net.D;
  out.sentences = cut.floats(T * row);
  out.gate = net.gate_mask ? cut.floats(T * row) : out.sentences;
  out.candidate = cut.floats(T * row);
  out.closed = static_cast<unsigned char*>(cut.bytes((size_t)T));
  out.keys = net.keys_per_story ? cut.floats(size) : net.keys;
  out.key_input = net.keys_per_story ? cut.floats(size) : net.key_input;
  out.keep = cut.floats(row);
  out.trace = {cut.floats((T + 1) * size), cut.floats(T * size), cut.floats(T * net.M),
               cut.floats(T * net.M)};
  cut_reading(cut, net, Q, out.reading);
  out.memory_read = static_cast<const float**>(cut.bytes((size_t)Q * sizeof(void*)));
  out.answers = static_cast<const int64_t**>(cut.bytes((size_t)Q * sizeof(void*)));
  out.predictions = static_cast<int64_t**>(cut.bytes((size_t)Q * sizeof(void*)));
  if (!training) return;
  out.dsentences = cut.floats(T * row);
  out.dgate = cut.floats(T * row);
  out.dcandidate = cut.floats(T * row);
  out.scratch.block = sentences_per_block(net.m, net.D);
  out.scratch.dh = cut.floats(size);
  out.scratch.dx = cut.floats(out.scratch.block * size);
  out.scratch.dlogit = cut.floats(T * net.M);
  cut_sums(cut, model, net, out.sums);
}

// Adds the time until it goes out of scope.
struct Stopwatch {
  double& sum;
  double start;
  explicit Stopwatch(double& into) : sum(into), start(seconds_now()) {}
  ~Stopwatch() { sum += seconds_now() - start; }
};

struct StoryCall {
  const EntnetModel* model;
  const EntnetBatch* batch;
  const PlanView* plan;
  Workspace* space;
  Network net;
  bool training;
  float loss_scale;
  int64_t* predictions;
  Score scores[MOST_THREADS];
  EntnetTimes times[MOST_THREADS];
};

static bool is_empty(const int64_t* words, int64_t L) {
  for (int64_t l = 0; l < L; ++l)
    if (words[l] != 0) return false;
  return true;
}

// (1), W s_t, and the keys where they belong to the story.
static StoryInput prepare(const StoryCall& call, const StorySpace& at, int64_t story, const float* keep) {
  const Network& net = call.net;
  const EntnetBatch& batch = *call.batch;
  const int64_t start = batch.story_offsets[story], T = batch.story_offsets[story + 1] - start;
  const int64_t L = batch.sentence_length;
  for (int64_t t = 0; t < T; ++t) {
    const int64_t* words = batch.words + (start + t) * L;
    encode(net.embedding, words, L, net.story_mask, keep, at.sentences + t * net.D);
    if (net.gate_mask) encode(net.embedding, words, L, net.gate_mask, keep, at.gate + t * net.D);
    at.closed[t] = call.model->close_on_empty && is_empty(words, L);
  }
  const float* candidate = at.sentences;
  if (net.matrix_W) {
    gemm<ROWS>(T, net.D, net.d, at.sentences, net.D, net.matrix_Wt, net.D, at.candidate, net.D);
    candidate = at.candidate;
  } else if (call.model->matrix_W == ENTNET_ZERO) {
    fill_zero(at.candidate, T * net.D);
    candidate = at.candidate;
  }
  if (net.keys_per_story) {
    const int64_t* key_words = batch.story_keys ? batch.story_keys + story * net.m : call.model->key_words;
    keys_of_words(net, key_words, keep, at.keys);
    key_input_of(net, call.model->matrix_V, at.keys, at.key_input);
  }
  return {T, candidate, at.gate, at.keys, at.key_input, at.closed};
}

// (6) and the loss, for all questions of the story.
static Score answer(const StoryCall& call, const StorySpace& at, Reading& r, int64_t story, const float* keep) {
  const Network& net = call.net;
  const EntnetBatch& batch = *call.batch;
  const int64_t first = call.plan->question_start[story];
  r.Q = call.plan->question_start[story + 1] - first;
  for (int64_t i = 0; i < r.Q; ++i) {
    const int64_t question = call.plan->questions[first + i];
    const int64_t t = batch.question_step[question] - batch.story_offsets[story];
    encode(net.embedding, batch.question_words + question * batch.question_length, batch.question_length,
           net.question_mask, keep, r.q + i * net.D);
    at.memory_read[i] = at.trace.states + (t + 1) * net.m * net.D;
    at.answers[i] = batch.answers + question;
    if (call.predictions) at.predictions[i] = call.predictions + question;
  }
  read_forward(net.read, r, at.memory_read);
  return score(net.read, r, at.answers, call.predictions ? at.predictions : nullptr);
}

// What dkey_input and dkeys (m, D) mean for V, the bias and the keys' own gradient.
static void keys_backward(const EntnetModel& model, const Network& net, const float* keys,
                          const float* dkey_input, float* dkeys, const Sums& into) {
  for (int64_t j = 0; j < net.m; ++j) axpy(into.bias, 1.0f, dkey_input + j * net.D, net.D);
  if (net.matrix_V) {
    gemm_add<COLUMNS>(net.d, net.D, net.m, dkey_input, net.D, keys, net.D, into.V, net.D);
    gemm_add<ROWS>(net.m, net.D, net.d, dkey_input, net.D, net.matrix_V, net.D, dkeys, net.D);
  } else if (model.matrix_V == ENTNET_IDENTITY) {
    axpy(dkeys, 1.0f, dkey_input, net.m * net.D);
  }
}

static void keys_to_words(const Network& net, const int64_t* words, const float* keep, const float* dkeys,
                          const EmbeddingGradient& into) {
  for (int64_t j = 0; j < net.m; ++j) {
    float* row = into.row(words[j], net.D);
    const float* from = dkeys + j * net.D;
    for (int64_t i = 0; i < net.D; i += LANES)
      store(row + i, load(row + i) + (keep ? load(from + i) * load(keep + i) : load(from + i)));
  }
}

// Back through (2) to (5), and to the keys.
static void scan_gradients(const StoryCall& call, const StorySpace& at, const Reading& r,
                           const StoryInput& in, int64_t story, const float* keep) {
  const Network& net = call.net;
  const EntnetModel& model = *call.model;
  const EntnetBatch& batch = *call.batch;
  const Sums& sums = at.sums;
  const int64_t first = call.plan->question_start[story], start = batch.story_offsets[story];
  if (net.keys_per_story) fill_zero(sums.keys, net.m * net.D), fill_zero(sums.key_input, net.m * net.D);
  int64_t left = r.Q;
  story_backward(net.memory, in, at.trace,
                 ScanGradients{sums.U, sums.slope, sums.gate_bias, sums.keys, sums.key_input, at.dcandidate,
                               at.dgate},
                 at.scratch, [&](int64_t t, float* dh) {
                   while (left > 0 && batch.question_step[call.plan->questions[first + left - 1]] == start + t)
                     read_gradient(net.read, r, --left, dh);
                 });
  if (net.keys_per_story) {
    keys_backward(model, net, at.keys, sums.key_input, sums.keys, sums);
    keys_to_words(net, batch.story_keys ? batch.story_keys + story * net.m : model.key_words, keep, sums.keys,
                  at.embedding);
  }
}

// Back through W s and (1).
static void encoder_gradients(const StoryCall& call, const StorySpace& at, const Reading& r,
                              const StoryInput& in, int64_t story, const float* keep) {
  const Network& net = call.net;
  const EntnetModel& model = *call.model;
  const EntnetBatch& batch = *call.batch;
  const Sums& sums = at.sums;
  const int64_t first = call.plan->question_start[story], start = batch.story_offsets[story];
  // ds is the gate's and the candidate's; without an encoder of its own, the gate reads the same sentence.
  float* ds = net.gate_mask ? at.dsentences : at.dgate;
  if (net.gate_mask) fill_zero(ds, in.T * net.D);
  if (net.matrix_W) {
    gemm_add<COLUMNS>(net.d, net.D, in.T, at.dcandidate, net.D, at.sentences, net.D, sums.W, net.D);
    gemm_add<ROWS>(in.T, net.D, net.d, at.dcandidate, net.D, net.matrix_W, net.D, ds, net.D);
  } else if (model.matrix_W == ENTNET_IDENTITY) {
    axpy(ds, 1.0f, at.dcandidate, in.T * net.D);
  }
  for (int64_t t = 0; t < in.T; ++t) {
    const int64_t L = batch.sentence_length, *words = batch.words + (start + t) * L;
    encode_backward(net.embedding, words, L, net.story_mask, keep, ds + t * net.D, at.embedding,
                    sums.story_mask);
    if (net.gate_mask)
      encode_backward(net.embedding, words, L, net.gate_mask, keep, at.dgate + t * net.D, at.embedding,
                      sums.gate_mask);
  }
  for (int64_t i = 0; i < r.Q; ++i) {
    const int64_t L = batch.question_length;
    encode_backward(net.embedding, batch.question_words + call.plan->questions[first + i] * L, L,
                    net.question_mask, keep, r.dq + i * net.D, at.embedding, sums.question_mask);
  }
}

static void story_gradients(const StoryCall& call, const StorySpace& at, const StoryInput& in, int64_t story,
                            const float* keep, EntnetTimes& times) {
  const Sums& sums = at.sums;
  {
    Stopwatch watch(times.read);
    read_backward(call.net.read, at.reading, at.memory_read, at.answers, call.loss_scale,
                  ReadGradients{sums.H, sums.R, sums.read_slope});
  }
  {
    Stopwatch watch(times.scan);
    scan_gradients(call, at, at.reading, in, story, keep);
  }
  Stopwatch watch(times.encode);
  encoder_gradients(call, at, at.reading, in, story, keep);
}

static Score run_story(const StoryCall& call, StorySpace& at, int64_t story, EntnetTimes& times) {
  const Network& net = call.net;
  const float* keep = nullptr;
  if (call.batch->keep) {
    pad_row(at.keep, call.batch->keep + story * net.d, net.d, net.D);
    keep = at.keep;
  }
  StoryInput in;
  {
    Stopwatch watch(times.encode);
    in = prepare(call, at, story, keep);
  }
  {
    Stopwatch watch(times.scan);
    story_forward(net.memory, in, at.trace);
  }
  Score out;
  {
    Stopwatch watch(times.read);
    out = answer(call, at, at.reading, story, keep);
  }
  if (call.training) story_gradients(call, at, in, story, keep, times);
  return out;
}

}  // namespace ENTNET_ISA
