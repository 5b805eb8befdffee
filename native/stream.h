// Reading one sentence, or asking one question, with weights packed once and for all.
#pragma once

#include "network.h"

namespace ENTNET_ISA {

constexpr int64_t MOST_WORDS_A_SENTENCE = 512;

static void stream_pack(const EntnetModel* model, Workspace* space) {
  pack_network(*model, true, space);
}

struct StreamSpace {
  float *h, *next, *x, *w, *key_input;  // (m, D)
  float *s, *gate, *candidate;          // (D)
  float *p, *g, *inverse;               // (M)
  Reading reading;                      // of one question
};

static void cut_stream(Cutter& cut, const Network& net, StreamSpace& out) {
  float** const memories[] = {&out.h, &out.next, &out.x, &out.w, &out.key_input};
  for (float** piece : memories) *piece = cut.floats(net.m * net.D);
  Reading& r = out.reading;
  float** const rows[] = {&out.s, &out.gate, &out.candidate, &r.q};
  for (float** piece : rows) *piece = cut.floats(net.D);
  float** const hops[] = {&r.u, &r.z, &r.v};
  for (float** piece : hops) *piece = cut.floats(net.read.hops * net.D);
  float** const slots[] = {&out.p, &out.g, &out.inverse};
  for (float** piece : slots) *piece = cut.floats(net.M);
  r.p = cut.floats(net.read.hops * net.M);
  r.y = cut.floats(net.read.A);
  r.Q = 1;
  r.hop_rows = net.D, r.hop_slots = net.M;
}

static StreamSpace stream_space(const Network& net, Workspace* space) {
  StreamSpace out{};
  Cutter measure;
  cut_stream(measure, net, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_stream(cut, net, out);
  return out;
}

// ‖h_j before − h_j after‖ of rows (m, D).
static void distances(const float* before, const float* after, int64_t m, int64_t D, float* out) {
  for (int64_t j = 0; j < m; ++j) {
    vec square = zero();
    for (int64_t k = j * D; k < (j + 1) * D; k += LANES) {
      const vec by = load(after + k) - load(before + k);
      square += by * by;
    }
    out[j] = sqrtf(hsum(square));
  }
}

// Slots are the network's or, where a story names its own, as many as it has named. From memory (m, d) to `after`, which may be the same; keys (m, d); gates (m), out, and, if
// wanted, how far each slot moved (m).
static void stream_step(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L, int64_t slots,
                        const float* keys, const float* memory, float* after, float* gates, float* moved) {
  const FlushDenormals flush;
  Network net = with_slots(place_network(*model, true, space, false), slots);
  net.memory.learning = false;
  if (!slots) return;
  const StreamSpace at = stream_space(net, space);
  pad_rows(at.h, memory, net.m, net.d, net.D);
  pad_rows(at.w, keys, net.m, net.d, net.D);
  key_input_of(net, model->matrix_V, at.w, at.key_input);
  encode(net.embedding, words, L, net.story_mask, nullptr, at.s);
  if (net.gate_mask) encode(net.embedding, words, L, net.gate_mask, nullptr, at.gate);
  fill_zero(at.candidate, net.D);
  if (net.matrix_W)
    gemm<ROWS>(1, net.D, net.d, at.s, net.D, net.matrix_Wt, net.D, at.candidate, net.D);
  else if (model->matrix_W == ENTNET_IDENTITY)
    memcpy(at.candidate, at.s, (size_t)net.D * sizeof(float));
  bool closed = model->close_on_empty != 0;
  for (int64_t l = 0; l < L; ++l) closed = closed && words[l] == 0;
  step_forward(net.memory, at.h, at.candidate, net.gate_mask ? at.gate : at.s, at.w, at.key_input, closed,
               at.next, at.x, at.p, net.memory.gate.shuts ? at.g : at.p, at.inverse);
  if (moved) distances(at.h, at.next, net.m, net.D, moved);
  unpad_rows(after, at.next, net.m, net.d, net.D);
  memcpy(gates, net.memory.gate.shuts ? at.g : at.p, (size_t)net.m * sizeof(float));
}

// Many sentences, words (N, L), into one memory (m, d), in place; `widest` (N), out: how far the widest gate opened,
// and `slots` (N), out: which it was. A sentence that opens no gate costs its encoding and one product a slot.
static void stream_scan(const EntnetModel* model, Workspace* space, const int32_t* words, int64_t N, int64_t L,
                        const float* keys, float* memory, float* widest_gates, int32_t* slots) {
  const FlushDenormals flush;
  Network net = place_network(*model, true, space, false);
  net.memory.learning = false;
  StreamSpace at = stream_space(net, space);
  const bool shuts = net.memory.gate.shuts;
  pad_rows(at.h, memory, net.m, net.d, net.D);
  pad_rows(at.w, keys, net.m, net.d, net.D);
  key_input_of(net, model->matrix_V, at.w, at.key_input);
  int64_t row[MOST_WORDS_A_SENTENCE];
  for (int64_t t = 0; t < N; ++t) {
    bool closed = model->close_on_empty != 0;
    for (int64_t l = 0; l < L; ++l) row[l] = words[t * L + l], closed = closed && row[l] == 0;
    encode(net.embedding, row, L, net.story_mask, nullptr, at.s);
    if (net.gate_mask) encode(net.embedding, row, L, net.gate_mask, nullptr, at.gate);
    const float* gate = net.gate_mask ? at.gate : at.s;
    widest_gates[t] = 0.0f, slots[t] = 0;
    if (shuts) {
      open_gates(net.memory, at.h, at.w, gate, closed, at.p);
      if (widest(at.p, net.M) < net.memory.gate.threshold) continue;
    }
    fill_zero(at.candidate, net.D);
    if (net.matrix_W)
      gemm<ROWS>(1, net.D, net.d, at.s, net.D, net.matrix_Wt, net.D, at.candidate, net.D);
    else if (model->matrix_W == ENTNET_IDENTITY)
      memcpy(at.candidate, at.s, (size_t)net.D * sizeof(float));
    float* opened = shuts ? at.g : at.p;
    step_forward(net.memory, at.h, at.candidate, gate, at.w, at.key_input, closed, at.next, at.x, at.p, opened,
                 at.inverse);
    for (int64_t j = 0; j < net.m; ++j)
      if (opened[j] > widest_gates[t]) widest_gates[t] = opened[j], slots[t] = (int32_t)j;
    float* swap = at.h;
    at.h = at.next, at.next = swap;
  }
  unpad_rows(memory, at.h, net.m, net.d, net.D);
}

// scores (answers) before the softmax, attention (m), both out.
static void stream_read(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L, int64_t slots,
                        const float* memory, float* scores, float* attention) {
  const FlushDenormals flush;
  const Network net = with_slots(place_network(*model, true, space, false), slots);
  const ReadWeights& read = net.read;
  const StreamSpace at = stream_space(net, space);
  const Reading& r = at.reading;
  pad_rows(at.h, memory, net.m, net.d, net.D);
  encode(net.embedding, words, L, net.question_mask, nullptr, r.q);
  const float* memories[] = {at.h};
  read_forward(read, r, memories);
  if (read.over_slots) {
    memcpy(r.p, r.y, (size_t)net.M * sizeof(float));
    softmax(r.p, net.M, largest(r.p, net.m, net.M));
  }
  memcpy(attention, at_hop(r, read.hops - 1).p, (size_t)net.m * sizeof(float));
  for (int64_t a = 0; a < read.answers; ++a) scores[a] = read.allowed && !read.allowed[a] ? -INFINITY : r.y[a];
}

}  // namespace ENTNET_ISA
