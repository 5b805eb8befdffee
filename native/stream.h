// Reading one sentence, or asking one question, with weights packed once and for all.
#pragma once

#include "network.h"

namespace ENTNET_ISA {

static void stream_pack(const EntnetModel* model, Workspace* space) {
  pack_network(*model, true, space);
}

struct StreamSpace {
  float *h, *next, *x, *w, *key_input;  // (m, D)
  float *s, *gate, *candidate;          // (D)
  float *g, *inverse;                   // (M)
  Reading reading;                      // of one question
};

static void cut_stream(Cutter& cut, const Network& net, StreamSpace& out) {
  float** const memories[] = {&out.h, &out.next, &out.x, &out.w, &out.key_input};
  for (float** piece : memories) *piece = cut.floats(net.m * net.D);
  Reading& r = out.reading;
  float** const rows[] = {&out.s, &out.gate, &out.candidate, &r.q, &r.u, &r.z, &r.v};
  for (float** piece : rows) *piece = cut.floats(net.D);
  float** const slots[] = {&out.g, &out.inverse, &r.p};
  for (float** piece : slots) *piece = cut.floats(net.M);
  r.y = cut.floats(net.read.A);
  r.Q = 1;
}

static StreamSpace stream_space(const Network& net, Workspace* space) {
  StreamSpace out{};
  Cutter measure;
  cut_stream(measure, net, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_stream(cut, net, out);
  return out;
}

// From memory (m, d) to `after`, which may be the same; keys (m, d); gates (m), out.
static void stream_step(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L,
                        const float* keys, const float* memory, float* after, float* gates) {
  const FlushDenormals flush;
  const Network net = place_network(*model, true, space, false);
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
               at.next, at.x, at.g, at.inverse);
  unpad_rows(after, at.next, net.m, net.d, net.D);
  memcpy(gates, at.g, (size_t)net.m * sizeof(float));
}

// scores (answers) before the softmax, attention (m), both out.
static void stream_read(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L,
                        const float* memory, float* scores, float* attention) {
  const FlushDenormals flush;
  const Network net = place_network(*model, true, space, false);
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
  memcpy(attention, r.p, (size_t)net.m * sizeof(float));
  for (int64_t a = 0; a < read.answers; ++a) scores[a] = read.allowed && !read.allowed[a] ? -INFINITY : r.y[a];
}

}  // namespace ENTNET_ISA
