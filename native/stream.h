// Reading one sentence, or asking one question, with weights packed once and for all.
#pragma once

#include "network.h"

namespace ENTNET_ISA {

static void stream_pack(const EntnetModel* model, Workspace* space) {
  pack_network(*model, true, space);
}

// From memory (m, d) to `after`, which may be the same; keys (m, d); gates (m), out.
static void stream_step(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L,
                        const float* keys, const float* memory, float* after, float* gates) {
  const FlushDenormals flush;
  const Network net = place_network(*model, true, space, false);
  const int64_t size = net.m * net.D, row = net.D;
  Cutter measure;
  measure.floats(5 * size + 3 * row + 2 * net.M);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  float *h = cut.floats(size), *next = cut.floats(size), *x = cut.floats(size);
  float *w = cut.floats(size), *key_input = cut.floats(size);
  float *s = cut.floats(row), *gate = cut.floats(row), *candidate = cut.floats(row);
  float *g = cut.floats(net.M), *n = cut.floats(net.M);
  pad_rows(h, memory, net.m, net.d, net.D);
  pad_rows(w, keys, net.m, net.d, net.D);
  key_input_of(net, model->matrix_V, w, key_input);
  encode(net.embedding, words, L, net.story_mask, nullptr, s);
  if (net.gate_mask) encode(net.embedding, words, L, net.gate_mask, nullptr, gate);
  fill_zero(candidate, row);
  if (net.matrix_W)
    gemm<ROWS>(1, row, net.d, s, row, net.matrix_Wt, row, candidate, row);
  else if (model->matrix_W == ENTNET_IDENTITY)
    memcpy(candidate, s, (size_t)row * sizeof(float));
  bool closed = model->close_on_empty != 0;
  for (int64_t l = 0; l < L; ++l) closed = closed && words[l] == 0;
  step_forward(net.memory, h, candidate, net.gate_mask ? gate : s, w, key_input, closed, next, x, g, n);
  unpad_rows(after, next, net.m, net.d, net.D);
  memcpy(gates, g, (size_t)net.m * sizeof(float));
}

// scores (answers) before the softmax, attention (m), both out.
static void stream_read(const EntnetModel* model, Workspace* space, const int64_t* words, int64_t L,
                        const float* memory, float* scores, float* attention) {
  const FlushDenormals flush;
  const Network net = place_network(*model, false, space, false);
  const ReadWeights& read = net.read;
  Cutter measure;
  measure.floats(net.m * net.D + 4 * net.D + net.M + read.A);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  float* h = cut.floats(net.m * net.D);
  Reading r{};
  r.Q = 1;
  r.q = cut.floats(net.D), r.u = cut.floats(net.D), r.z = cut.floats(net.D), r.v = cut.floats(net.D);
  r.p = cut.floats(net.M), r.y = cut.floats(read.A);
  pad_rows(h, memory, net.m, net.d, net.D);
  encode(net.embedding, words, L, net.question_mask, nullptr, r.q);
  const float* memories[] = {h};
  read_forward(read, r, memories);
  if (read.over_slots) {
    memcpy(r.p, r.y, (size_t)net.M * sizeof(float));
    softmax(r.p, net.m, net.M, largest(r.p, net.m));
  }
  memcpy(attention, r.p, (size_t)net.m * sizeof(float));
  for (int64_t a = 0; a < read.answers; ++a) scores[a] = read.allowed && !read.allowed[a] ? -INFINITY : r.y[a];
}

}  // namespace ENTNET_ISA
