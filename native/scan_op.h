// memory_scan for PyTorch: stories in dense arrays, states wanted at given sentences.
//
// Backward reads each story again instead of keeping its states from forward: a story's numbers then
// never leave the cache, and a batch needs no (N, m, d) arrays at all.
#pragma once

#include "kernel.h"
#include "pool.h"
#include "scan.h"

namespace ENTNET_ISA {

struct ScanShared {
  MemoryWeights weights;
  float *keys, *key_input;  // (m, D), where shared by all stories
};

static void cut_shared(Cutter& cut, const EntnetScan& a, ScanShared& out) {
  MemoryWeights& w = out.weights;
  w.m = a.slots, w.d = a.width, w.D = padded(a.width), w.M = padded(a.slots);
  w.normalise = a.normalise != 0, w.norm_floor = (float)a.norm_floor;
  w.gate = gate_shape(a.gate);
  if (a.U) w.U = cut.floats(w.d * w.D), w.Ut = cut.floats(w.d * w.D);
  w.slope = cut.floats(w.D);
  w.gate_bias = cut.floats(w.M);
  out.keys = a.keys_per_story ? nullptr : cut.floats(w.m * w.D);
  out.key_input = a.keys_per_story ? nullptr : cut.floats(w.m * w.D);
}

static ScanShared pack_shared(const EntnetScan& a, Workspace* space) {
  ScanShared out;
  Cutter measure;
  cut_shared(measure, a, out);
  Cutter cut{reserve(&space->shared, measure.at)};
  cut_shared(cut, a, out);
  MemoryWeights& w = out.weights;
  if (a.U) {
    pad_rows(const_cast<float*>(w.U), a.U, w.d, w.d, w.D);
    transpose(const_cast<float*>(w.Ut), a.U, w.d, w.d, w.D);
  }
  float *slope = const_cast<float*>(w.slope), *bias = const_cast<float*>(w.gate_bias);
  if (a.slope)
    pad_row(slope, a.slope, w.d, w.D);
  else
    for (int64_t i = 0; i < w.D; i += LANES) store(slope + i, splat(1.0f));
  fill_zero(bias, w.M);
  if (a.gate_bias) memcpy(bias, a.gate_bias, (size_t)w.m * sizeof(float));
  if (!a.keys_per_story) {
    pad_rows(out.keys, a.keys, w.m, w.d, w.D);
    pad_rows(out.key_input, a.key_input, w.m, w.d, w.D);
  }
  return out;
}

struct ScanCall {
  const EntnetScan* arguments;
  const EntnetScanGradients* gradients;  // null going forward
  const PlanView* plan;
  Workspace* space;
  ScanShared shared;
};

struct ScanSpace {
  float *candidate, *gate, *keys, *key_input;
  StoryTrace trace;
  ScanScratch scratch;
  ScanGradients gradients;
  float* sums_start;
  int64_t sums_size;
};

static void cut_scan_space(Cutter& cut, const ScanCall& call, ScanSpace& out) {
  const MemoryWeights& w = call.shared.weights;
  const int64_t T = call.plan->longest, row = w.D, size = w.m * w.D;
  const bool backward = call.gradients != nullptr, own_keys = call.arguments->keys_per_story != 0;
  out.candidate = cut.floats(T * row);
  out.gate = cut.floats(T * row);
  out.keys = own_keys ? cut.floats(size) : call.shared.keys;
  out.key_input = own_keys ? cut.floats(size) : call.shared.key_input;
  out.trace.states = cut.floats(backward ? (T + 1) * size : 2 * size);
  out.trace.x = cut.floats(backward ? T * size : size);
  out.trace.p = cut.floats(backward ? T * w.M : w.M);
  out.trace.g = w.gate.shuts ? cut.floats(backward ? T * w.M : w.M) : out.trace.p;
  out.trace.inverse = cut.floats(backward ? T * w.M : w.M);
  if (!backward) return;
  out.scratch.block = sentences_per_block(w.m, w.D);
  out.scratch.dh = cut.floats(size);
  out.scratch.dx = cut.floats(out.scratch.block * size);
  out.scratch.dlogit = cut.floats(T * w.M);
  out.gradients.candidate = cut.floats(T * row);
  out.gradients.gate = cut.floats(T * row);
  const size_t start = cut.at;
  cut.gaps = false;  // they are cleared as one
  out.sums_start = cut.floats(0);
  out.gradients.U = w.U && call.gradients->U ? cut.floats(w.d * row) : nullptr;
  out.gradients.slope = cut.floats(row);
  out.gradients.gate_bias = cut.floats(w.M);
  out.gradients.keys = cut.floats(size);
  out.gradients.key_input = cut.floats(size);
  out.sums_size = (int64_t)((cut.at - start) / sizeof(float));
  cut.gaps = true;
}

static ScanSpace scan_space(const ScanCall& call, int64_t thread, bool fresh) {
  ScanSpace out;
  Cutter measure;
  cut_scan_space(measure, call, out);
  Buffer* buffer = &call.space->scratch[thread];
  Cutter cut{fresh ? reserve(buffer, measure.at) : buffer->data};
  cut_scan_space(cut, call, out);
  return out;
}

static StoryInput load_story(const ScanCall& call, const ScanSpace& space, int64_t story) {
  const EntnetScan& a = *call.arguments;
  const MemoryWeights& w = call.shared.weights;
  const int64_t start = a.offsets[story], T = a.offsets[story + 1] - start;
  pad_rows(space.candidate, a.candidate_input + start * w.d, T, w.d, w.D);
  pad_rows(space.gate, a.gate_input + start * w.d, T, w.d, w.D);
  if (a.keys_per_story) {
    pad_rows(space.keys, a.keys + story * w.m * w.d, w.m, w.d, w.D);
    pad_rows(space.key_input, a.key_input + story * w.m * w.d, w.m, w.d, w.D);
  }
  return {T, space.candidate, space.gate, space.keys, space.key_input, a.closed ? a.closed + start : nullptr};
}

// Reads a story with two memories, back and forth, and hands out states as they are passed.
static void scan_story(const ScanCall& call, const ScanSpace& space, int64_t story) {
  const EntnetScan& a = *call.arguments;
  const MemoryWeights& w = call.shared.weights;
  const StoryInput in = load_story(call, space, story);
  const int64_t size = w.m * w.D;
  float *h = space.trace.states, *next = h + size;
  memcpy(h, in.keys, (size_t)size * sizeof(float));
  int64_t at = call.plan->question_start[story];
  const int64_t end = call.plan->question_start[story + 1];
  for (int64_t t = 0; t < in.T && at < end; ++t) {
    step_forward(w, h, in.candidate + t * w.D, in.gate + t * w.D, in.keys, in.key_input,
                 in.closed && in.closed[t], next, space.trace.x, space.trace.p, space.trace.g,
                 space.trace.inverse);
    for (; at < end && a.read_at[call.plan->questions[at]] == a.offsets[story] + t; ++at)
      unpad_rows(a.states + call.plan->questions[at] * w.m * w.d, next, w.m, w.d, w.D);
    float* swap = h;
    h = next, next = swap;
  }
}

static void scan_story_backward(const ScanCall& call, const ScanSpace& space, int64_t story) {
  const EntnetScan& a = *call.arguments;
  const EntnetScanGradients& out = *call.gradients;
  const MemoryWeights& w = call.shared.weights;
  const StoryInput in = load_story(call, space, story);
  story_forward(w, in, space.trace);
  int64_t at = call.plan->question_start[story + 1];
  const int64_t first = call.plan->question_start[story], start = a.offsets[story];
  if (a.keys_per_story) {
    fill_zero(space.gradients.keys, w.m * w.D);
    fill_zero(space.gradients.key_input, w.m * w.D);
  }
  story_backward(w, in, space.trace, space.gradients, space.scratch, [&](int64_t t, float* dh) {
    for (; at > first && a.read_at[call.plan->questions[at - 1]] == start + t; --at) {
      const float* from = out.states + call.plan->questions[at - 1] * w.m * w.d;
      for (int64_t j = 0; j < w.m; ++j)
        for (int64_t i = 0; i < w.d; ++i) dh[j * w.D + i] += from[j * w.d + i];
    }
  });
  unpad_rows(out.candidate_input + start * w.d, space.gradients.candidate, in.T, w.d, w.D);
  unpad_rows(out.gate_input + start * w.d, space.gradients.gate, in.T, w.d, w.D);
  if (a.keys_per_story) {
    unpad_rows(out.keys + story * w.m * w.d, space.gradients.keys, w.m, w.d, w.D);
    unpad_rows(out.key_input + story * w.m * w.d, space.gradients.key_input, w.m, w.d, w.D);
  }
}

static void scan_thread(void* context, int64_t thread) {
  const FlushDenormals flush;
  const ScanCall& call = *static_cast<const ScanCall*>(context);
  const ScanSpace space = scan_space(call, thread, true);
  if (call.gradients) fill_zero(space.sums_start, space.sums_size);
  for (int64_t i = call.plan->thread_start[thread]; i < call.plan->thread_start[thread + 1]; ++i) {
    if (call.gradients)
      scan_story_backward(call, space, call.plan->stories[i]);
    else
      scan_story(call, space, call.plan->stories[i]);
  }
}

static void add_rows(float* out, const float* in, int64_t rows, int64_t n, int64_t width) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) out[r * n + i] += in[r * width + i];
}

static void scan_forward(const EntnetScan* arguments, const PlanView* plan, Workspace* space) {
  ScanCall call{arguments, nullptr, plan, space, pack_shared(*arguments, space)};
  call.shared.weights.learning = false;
  run_parallel(plan->threads, scan_thread, &call);
}

static void scan_backward(const EntnetScan* arguments, const EntnetScanGradients* out, const PlanView* plan,
                          Workspace* space) {
  ScanCall call{arguments, out, plan, space, pack_shared(*arguments, space)};
  run_parallel(plan->threads, scan_thread, &call);
  const MemoryWeights& w = call.shared.weights;
  if (out->U) fill_zero(out->U, w.d * w.d);
  if (out->slope) fill_zero(out->slope, w.d);
  if (out->gate_bias) fill_zero(out->gate_bias, w.m);
  if (!arguments->keys_per_story) {
    fill_zero(out->keys, w.m * w.d);
    fill_zero(out->key_input, w.m * w.d);
  }
  for (int64_t thread = 0; thread < plan->threads; ++thread) {
    const ScanGradients part = scan_space(call, thread, false).gradients;
    if (out->U) add_rows(out->U, part.U, w.d, w.d, w.D);
    if (out->slope) add_rows(out->slope, part.slope, 1, w.d, w.D);
    if (out->gate_bias) add_rows(out->gate_bias, part.gate_bias, 1, w.m, w.M);
    if (!arguments->keys_per_story) {
      add_rows(out->keys, part.keys, w.m, w.d, w.D);
      add_rows(out->key_input, part.key_input, w.m, w.d, w.D);
    }
  }
}

}  // namespace ENTNET_ISA
