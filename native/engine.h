// A whole training step, a whole evaluation, and reading in a stream.
#pragma once

#include "optimiser.h"
#include "pool.h"
#include "story.h"

namespace ENTNET_ISA {

static ThreadSpace thread_space(const StoryCall& call, int64_t thread, bool fresh) {
  ThreadSpace out;
  Cutter measure;
  const int64_t N = call.batch->sentences, Q = call.batch->questions, T = call.plan->longest;
  cut_thread(measure, *call.model, call.net, N, Q, T, call.training, call.batch->noise != nullptr, out);
  Buffer* buffer = &call.space->scratch[thread];
  Cutter cut{fresh ? reserve(buffer, measure.at) : buffer->data};
  cut_thread(cut, *call.model, call.net, N, Q, T, call.training, call.batch->noise != nullptr, out);
  if (!call.training) return out;
  // Laid out once and for all: `stamp` must survive from step to step.
  Cutter kept{call.space->embeddings[thread].data};
  out.embedding.stamp = static_cast<int32_t*>(kept.bytes((size_t)call.net.V * sizeof(int32_t)));
  out.embedding.touched = static_cast<int64_t*>(kept.bytes((size_t)call.net.V * sizeof(int64_t)));
  out.embedding.count = static_cast<int64_t*>(kept.bytes(sizeof(int64_t)));
  out.embedding.rows = kept.floats(call.net.V * call.net.D);
  out.embedding.now = call.space->now;
  return out;
}

// Room for the gradients of embeddings, with stamps that say that no row holds anything yet.
static void keep_embeddings(Workspace* space, const Network& net, int64_t threads) {
  Cutter measure;
  measure.bytes((size_t)net.V * sizeof(int32_t));
  const size_t stamps = measure.at;
  measure.bytes((size_t)net.V * sizeof(int64_t));
  measure.bytes(sizeof(int64_t));
  measure.floats(net.V * net.D);
  for (int64_t thread = 0; thread < threads; ++thread) {
    Buffer* buffer = &space->embeddings[thread];
    if (buffer->size >= measure.at) continue;
    memset(reserve(buffer, measure.at), 0, stamps);
  }
}

static void story_thread(void* context, int64_t thread) {
  const FlushDenormals flush;
  StoryCall& call = *static_cast<StoryCall*>(context);
  ThreadSpace at = thread_space(call, thread, true);
  if (call.training) {
    fill_zero(at.sums.start, at.sums.size);
    *at.embedding.count = 0;
  }
  call.times[thread] = EntnetTimes{};
  call.scores[thread] = run_stories(call, at, thread, call.times[thread]);
}

// Every trained part's gradient goes from the padded sums of a thread to its place.
template <typename Place>
static void each_part(const EntnetModel& model, const Network& net, const Sums& from, Place place) {
  const int64_t d = net.d, D = net.D;
  place(model.story_mask, from.story_mask, net.L, d, D);
  place(model.question_mask, from.question_mask, net.L, d, D);
  place(model.gate_mask, from.gate_mask, net.L, d, D);
  place(model.U, from.U, d, d, D);
  place(model.V, from.V, d, d, D);
  place(model.W, from.W, d, d, D);
  place(model.H, from.H, d, d, D);
  place(model.R, from.R, net.V, d, D);
  place(model.gate_bias, from.gate_bias, 1, net.m, net.M);
  place(model.candidate_bias, from.bias, 1, d, D);
  place(model.keys, from.keys, net.m, d, D);
  place(model.ordinals, from.ordinals, net.ordinal_count, d, D);
  if (model.slope_units == d) {
    place(model.slope, from.slope, 1, d, D);
    place(model.read_slope, from.read_slope, 1, d, D);
  }
}

static void place_single_slope(const EntnetModel& model, const Network& net, const Sums& from, float* out) {
  if (model.slope_units == net.d) return;
  const int64_t places[] = {model.slope, model.read_slope};
  const float* sums[] = {from.slope, from.read_slope};
  for (int k = 0; k < 2; ++k) {
    if (places[k] < 0) continue;
    vec sum = zero();
    for (int64_t i = 0; i < net.D; i += LANES) sum += load(sums[k] + i);
    out[places[k]] = hsum(sum);
  }
}

// Adds what the other threads summed to the first one's sums and embedding rows.
static void merge(const StoryCall& call, ThreadSpace& first) {
  for (int64_t thread = 1; thread < call.plan->threads; ++thread) {
    const ThreadSpace other = thread_space(call, thread, false);
    axpy(first.sums.start, 1.0f, other.sums.start, first.sums.size);
    for (int64_t i = 0; i < *other.embedding.count; ++i) {
      const int64_t word = other.embedding.touched[i];
      axpy(first.embedding.row(word, call.net.D), 1.0f, other.embedding.rows + word * call.net.D, call.net.D);
    }
  }
}

static Touched place_embeddings(const StoryCall& call, const EmbeddingGradient& from, float* out) {
  Workspace* space = call.space;
  const int64_t d = call.net.d, D = call.net.D;
  const size_t size = (size_t)call.net.V * sizeof(int64_t);
  if (space->touched.size < size) {
    reserve(&space->touched, size);
    space->touched_count = 0;
    fill_zero(out, call.net.V * d);
  }
  int64_t* rows = reinterpret_cast<int64_t*>(space->touched.data);
  for (int64_t i = 0; i < space->touched_count; ++i) fill_zero(out + rows[i] * d, d);
  space->touched_count = *from.count;
  memcpy(rows, from.touched, (size_t)*from.count * sizeof(int64_t));
  for (int64_t i = 0; i < *from.count; ++i)
    memcpy(out + rows[i] * d, from.rows + rows[i] * D, (size_t)d * sizeof(float));
  return {rows, space->touched_count};
}

static Touched collect(const StoryCall& call, float* out) {
  const EntnetModel& model = *call.model;
  const Network& net = call.net;
  ThreadSpace first = thread_space(call, 0, false);
  merge(call, first);
  if (!net.keys_per_story) {
    keys_backward(model, net, net.keys, first.sums.key_input, first.sums.keys, first.sums);
    if (model.keys < 0) keys_to_words(net, model.key_words, nullptr, nullptr, first.sums.keys, first.embedding, nullptr);
  }
  each_part(model, net, first.sums,
            [&](int64_t offset, const float* from, int64_t rows, int64_t n, int64_t width) {
              if (offset >= 0) unpad_rows(out + offset, from, rows, n, width);
            });
  place_single_slope(model, net, first.sums, out);
  return place_embeddings(call, first.embedding, out + model.embedding);
}

static bool has_own_keys(const EntnetModel& model, const EntnetBatch& batch) {
  return model.keys < 0 && (batch.story_keys || batch.keep || model.entity);
}

static void total(const StoryCall& call, EntnetResult* result) {
  *result = EntnetResult{};
  for (int64_t thread = 0; thread < call.plan->threads; ++thread) {
    result->loss += call.scores[thread].loss;
    result->errors += call.scores[thread].errors;
    result->times.encode += call.times[thread].encode;
    result->times.scan += call.times[thread].scan;
    result->times.read += call.times[thread].read;
  }
}

static void train(const EntnetModel* model, const EntnetBatch* batch, const EntnetUpdate* change,
                  const PlanView* plan, Workspace* space, EntnetResult* result) {
  const FlushDenormals flush;
  StoryCall call;
  call.model = model, call.batch = batch, call.plan = plan, call.space = space;
  Stopwatch watch;
  call.net = pack_network(*model, has_own_keys(*model, *batch), space);
  EntnetTimes times{};
  watch.lap(times.pack);
  call.training = true;
  call.loss_scale = change->mean_loss ? 1.0f / (float)batch->questions : 1.0f;
  call.penalty = (float)change->gate_penalty * call.loss_scale;
  call.end_penalty = (float)change->end_penalty * call.loss_scale;
  call.predictions = nullptr;
  keep_embeddings(space, call.net, plan->threads);
  ++space->now;
  run_parallel(plan->threads, story_thread, &call);
  total(call, result);
  result->times.pack = times.pack;
  watch.last = seconds_now();
  const Touched touched = collect(call, change->gradients);
  result->gradient_norm = update(*model, *change, touched);
  watch.lap(result->times.update);
}

static void evaluate(const EntnetModel* model, const EntnetBatch* batch, const PlanView* plan,
                     Workspace* space, int64_t* predictions, EntnetResult* result) {
  const FlushDenormals flush;
  StoryCall call;
  call.model = model, call.batch = batch, call.plan = plan, call.space = space;
  call.net = pack_network(*model, has_own_keys(*model, *batch), space);
  call.training = false;
  call.net.memory.learning = false;
  call.loss_scale = 1.0f, call.penalty = call.end_penalty = 0.0f;
  call.predictions = predictions;
  run_parallel(plan->threads, story_thread, &call);
  total(call, result);
}

}  // namespace ENTNET_ISA
