// A thread's stories through the whole network: encode, scan, read, score, and all the way back.
//
// What works on many rows at once (the products with W, and the gradients of W, H and R) is done for all
// stories of the thread together; the rest story by story, so that a story's numbers stay in the cache.
#pragma once

#include "thread_space.h"

namespace ENTNET_ISA {

// Says where time goes: `lap` adds what has passed since the last one.
struct Stopwatch {
  double last = seconds_now();
  void lap(double& sum) {
    const double now = seconds_now();
    sum += now - last;
    last = now;
  }
};

struct StoryCall {
  const EntnetModel* model;
  const EntnetBatch* batch;
  const PlanView* plan;
  Workspace* space;
  Network net;
  bool training;
  float loss_scale, penalty, end_penalty;
  int64_t* predictions;
  Score scores[MOST_THREADS];
  EntnetTimes times[MOST_THREADS];
};

// Where a story stands: in the batch, and in the thread's room.
struct StoryPlace {
  int64_t story;
  int64_t start, T;          // sentences in the batch
  int64_t asked, Q;          // questions in the plan
  int64_t row, question;     // its first sentence and question in the thread's room
  const float* keep;         // (D), or null
  const int64_t* key_words;  // (m), or null where keys are free
  const int64_t* ordinals;   // (m), or null: which of its word's slots each is
};

// Calls work(place) for every story of the thread, in order; returns the sentences and questions in all.
template <typename Work>
static StoryPlace each_story(const StoryCall& call, const ThreadSpace& at, int64_t thread, Work work) {
  const EntnetBatch& batch = *call.batch;
  const PlanView& plan = *call.plan;
  StoryPlace place{};
  for (int64_t i = plan.thread_start[thread]; i < plan.thread_start[thread + 1]; ++i) {
    const int64_t story = place.story = plan.stories[i];
    place.start = batch.story_offsets[story];
    place.T = batch.story_offsets[story + 1] - place.start;
    place.asked = plan.question_start[story];
    place.Q = plan.question_start[story + 1] - place.asked;
    place.key_words = batch.story_keys ? batch.story_keys + story * call.net.m : call.model->key_words;
    if (batch.keep) {
      pad_row(at.keep, batch.keep + story * call.net.d, call.net.d, call.net.D);
      place.keep = at.keep;
    }
    work(place);
    place.row += place.T;
    place.question += place.Q;
  }
  return place;
}

static bool is_empty(const int64_t* words, int64_t L) {
  for (int64_t l = 0; l < L; ++l)
    if (words[l] != 0) return false;
  return true;
}

// (1) for the sentences and questions of a story.
static void encode_story(const StoryCall& call, const ThreadSpace& at, const StoryPlace& place) {
  const Network& net = call.net;
  const EntnetBatch& batch = *call.batch;
  for (int64_t t = 0; t < place.T; ++t) {
    const int64_t L = batch.sentence_length, row = (place.row + t) * net.D;
    const int64_t* words = batch.words + (place.start + t) * L;
    encode(net.embedding, words, L, net.story_mask, place.keep, at.sentences + row);
    if (net.gate_mask) encode(net.embedding, words, L, net.gate_mask, place.keep, at.gate + row);
    at.closed[place.row + t] = call.model->close_on_empty && is_empty(words, L);
    at.quiet[place.row + t] = batch.quiet && batch.quiet[place.start + t];
  }
  for (int64_t i = 0; i < place.Q; ++i) {
    const int64_t L = batch.question_length, *words = batch.question_words + call.plan->questions[place.asked + i] * L;
    encode(net.embedding, words, L, net.question_mask, place.keep, at.reading.q + (place.question + i) * net.D);
  }
}

// W s for every sentence of the thread.
static void candidate_inputs(const StoryCall& call, const ThreadSpace& at, int64_t N) {
  const Network& net = call.net;
  if (net.matrix_W)
    gemm<ROWS>(N, net.D, net.d, at.sentences, net.D, net.matrix_Wt, net.D, at.candidate, net.D);
  else if (call.model->matrix_W == ENTNET_ZERO)
    fill_zero(at.candidate, N * net.D);
}

// The network for a story that gets the slots of each entity as it is first named: up to as many as the network has.
static Network name_slots(const StoryCall& call, const ThreadSpace& at, StoryPlace& place) {
  const EntnetBatch& batch = *call.batch;
  const int64_t L = batch.sentence_length;
  int64_t m = 0;
  for (int64_t t = 0; t < place.T; ++t) {
    const int64_t* words = batch.words + (place.start + t) * L;
    for (int64_t l = 0; l < L; ++l) {
      const int64_t count = call.model->entity[words[l]];
      if (!count || m + count > call.net.m) continue;
      int64_t j = 0;
      while (j < m && at.named[j] != words[l]) ++j;
      if (j < m) continue;
      for (int64_t ordinal = 0; ordinal < count; ++ordinal, ++m)
        at.named[m] = words[l], at.ordinals[m] = ordinal;
    }
    at.live[t] = m;
  }
  place.key_words = at.named;
  place.ordinals = at.ordinals;
  return with_slots(call.net, m);
}

static StoryInput scan_input(const StoryCall& call, const Network& net, const ThreadSpace& at,
                             const StoryPlace& place) {
  if (net.keys_per_story) {
    keys_of_words(net, place.key_words, place.ordinals, place.keep, at.keys);
    key_input_of(net, call.model->matrix_V, at.keys, at.key_input);
  }
  if (at.noise) {
    const int64_t size = net.m * net.d;
    pad_rows(at.noise, call.batch->noise + place.start * size, place.T * net.m, net.d, net.D);
  }
  const int64_t row = place.row * net.D;
  return {place.T, at.candidate + row, at.gate + row, at.keys, at.key_input, at.closed + place.row,
          at.live, at.quiet + place.row, call.penalty, at.noise};
}

// A story's questions among all of the thread's.
static Reading reading_of(const ThreadSpace& at, const Network& whole, const Network& net, const StoryPlace& place) {
  Reading r = at.reading;
  float** const rows[] = {&r.q, &r.u, &r.z, &r.v, &r.dv, &r.du, &r.dq};
  for (float** piece : rows) *piece += place.question * net.D;
  r.p += place.question * whole.M;
  r.dscore += place.question * whole.M;
  r.live = at.asked_live;
  r.y += place.question * net.read.A;
  r.Q = place.Q;
  return r;
}

// (6) and the loss, for the questions of a story.
static Score answer(const StoryCall& call, const Network& net, const ThreadSpace& at, const Reading& r,
                    const StoryPlace& place) {
  const EntnetBatch& batch = *call.batch;
  for (int64_t i = 0; i < r.Q; ++i) {
    const int64_t question = call.plan->questions[place.asked + i];
    const int64_t t = batch.question_step[question] - place.start;
    if (at.live) at.asked_live[i] = at.live[t];
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

static void keys_to_words(const Network& net, const int64_t* words, const int64_t* ordinals, const float* keep,
                          const float* dkeys, const EmbeddingGradient& into, float* dordinals) {
  for (int64_t j = 0; j < net.m; ++j) {
    float* row = into.row(words[j], net.D);
    float* beside = ordinals && ordinals[j] ? dordinals + (ordinals[j] - 1) * net.D : nullptr;
    const float* from = dkeys + j * net.D;
    for (int64_t i = 0; i < net.D; i += LANES) {
      const vec share = keep ? load(from + i) * load(keep + i) : load(from + i);
      store(row + i, load(row + i) + share);
      if (beside) store(beside + i, load(beside + i) + share);
    }
  }
}

// The gradient of half the squared distance between where a story ended and where it should have.
static void towards(const float* end, const Network& net, const float* memory, float weight, float* dh) {
  for (int64_t j = 0; j < net.m; ++j)
    for (int64_t i = 0; i < net.d; ++i) dh[j * net.D + i] += weight * (memory[j * net.D + i] - end[j * net.d + i]);
}

// Back through (2) to (5), and to the keys.
static void scan_gradients(const StoryCall& call, const Network& net, const ThreadSpace& at, const Reading& r,
                           const StoryInput& in, const StoryPlace& place) {
  const EntnetBatch& batch = *call.batch;
  const Sums& sums = at.sums;
  if (net.keys_per_story) fill_zero(sums.keys, net.m * net.D), fill_zero(sums.key_input, net.m * net.D);
  const int64_t row = place.row * net.D;
  int64_t left = r.Q;
  const float* end = batch.ends ? batch.ends + place.story * net.m * net.d : nullptr;
  ScanScratch scratch = at.scratch;
  if (net.m) scratch.block = scratch.block * call.net.m / net.m;  // the same room for fewer slots
  story_backward(net.memory, in, at.trace,
                 ScanGradients{sums.U, sums.slope, sums.gate_bias, sums.keys, sums.key_input,
                               at.dcandidate + row, at.dgate + row},
                 scratch, [&](int64_t t, float* dh) {
                   const int64_t last = left, *questions = call.plan->questions + place.asked;
                   while (left > 0 && batch.question_step[questions[left - 1]] == place.start + t) --left;
                   if (left < last) read_gradient(net.read, r, left, last, dh);
                   if (end && t == place.T - 1)
                     towards(end, net, at.trace.states + place.T * net.m * net.D, call.end_penalty, dh);
                 });
  if (!net.keys_per_story) return;
  keys_backward(*call.model, net, at.keys, sums.key_input, sums.keys, sums);
  keys_to_words(net, place.key_words, place.ordinals, place.keep, sums.keys, at.embedding, sums.ordinals);
}

// Gradients of W and of the sentences, for all of the thread's.
static void candidate_gradients(const StoryCall& call, const ThreadSpace& at, int64_t N) {
  const Network& net = call.net;
  if (net.gate_mask) fill_zero(at.dsentences, N * net.D);
  if (net.matrix_W) {
    gemm_add<COLUMNS>(net.d, net.D, N, at.dcandidate, net.D, at.sentences, net.D, at.sums.W, net.D);
    gemm_add<ROWS>(N, net.D, net.d, at.dcandidate, net.D, net.matrix_W, net.D, at.dsentences, net.D);
  } else if (call.model->matrix_W == ENTNET_IDENTITY) {
    axpy(at.dsentences, 1.0f, at.dcandidate, N * net.D);
  }
}

// Back through (1).
static void encoder_gradients(const StoryCall& call, const ThreadSpace& at, const StoryPlace& place) {
  const Network& net = call.net;
  const EntnetBatch& batch = *call.batch;
  for (int64_t t = 0; t < place.T; ++t) {
    const int64_t L = batch.sentence_length, *words = batch.words + (place.start + t) * L;
    const int64_t row = (place.row + t) * net.D;
    encode_backward(net.embedding, words, L, net.story_mask, place.keep, at.dsentences + row, at.embedding,
                    at.sums.story_mask);
    if (net.gate_mask)
      encode_backward(net.embedding, words, L, net.gate_mask, place.keep, at.dgate + row, at.embedding,
                      at.sums.gate_mask);
  }
  for (int64_t i = 0; i < place.Q; ++i) {
    const int64_t L = batch.question_length, *words = batch.question_words + call.plan->questions[place.asked + i] * L;
    encode_backward(net.embedding, words, L, net.question_mask, place.keep,
                    at.reading.dq + (place.question + i) * net.D, at.embedding, at.sums.question_mask);
  }
}

// All stories of a thread, forward and, in training, backward.
static Score run_stories(const StoryCall& call, const ThreadSpace& at, int64_t thread, EntnetTimes& times) {
  const Network& net = call.net;
  Stopwatch watch;
  const StoryPlace all = each_story(call, at, thread, [&](const StoryPlace& place) { encode_story(call, at, place); });
  candidate_inputs(call, at, all.row);
  watch.lap(times.encode);
  Score sum{0.0, 0};
  each_story(call, at, thread, [&](StoryPlace place) {
    const Network net = at.named ? name_slots(call, at, place) : call.net;
    const StoryInput in = scan_input(call, net, at, place);
    story_forward(net.memory, in, at.trace);
    watch.lap(times.scan);
    const Reading r = reading_of(at, call.net, net, place);
    const Score got = answer(call, net, at, r, place);
    sum.loss += got.loss;
    sum.errors += got.errors;
    if (call.training) read_backward(net.read, r, at.memory_read, at.answers, call.loss_scale, at.sums.read_slope);
    watch.lap(times.read);
    if (call.training) scan_gradients(call, net, at, r, in, place);
    watch.lap(times.scan);
  });
  if (!call.training) return sum;
  Reading answered = at.reading;
  answered.Q = all.question;
  read_weight_gradients(net.read, answered, at.sums.H, at.sums.R);
  watch.lap(times.read);
  candidate_gradients(call, at, all.row);
  each_story(call, at, thread, [&](const StoryPlace& place) { encoder_gradients(call, at, place); });
  watch.lap(times.encode);
  return sum;
}

}  // namespace ENTNET_ISA
