// A whole network's weights, as the kernel wants them: rows padded, matrices also transposed.
#pragma once

#include "encoder.h"
#include "kernel.h"
#include "readout.h"
#include "scan.h"

namespace ENTNET_ISA {

struct Network {
  int64_t L, V, d, m, D, M;
  Embedding embedding;
  const float* ordinals;  // (ordinal_count, d), dense; null where each word has one slot
  int64_t ordinal_count;
  MemoryWeights memory;
  ReadWeights read;
  float *story_mask, *question_mask, *gate_mask;  // (L, D); null for a bag of words, or as the story's
  float *matrix_V, *matrix_Vt, *matrix_W, *matrix_Wt;  // (d, D); null unless trained
  float *bias, *slope;                                 // (D)
  float *keys, *key_input;                             // (m, D), where shared by all stories
  bool keys_per_story;
};

// The same with another number of slots, at most as many: a story's own.
ENTNET_INLINE Network with_slots(Network net, int64_t m) {
  net.m = net.memory.m = net.read.m = m;
  net.M = net.memory.M = net.read.M = padded(m);
  return net;
}

ENTNET_INLINE const float* part(const EntnetModel& model, int64_t offset) {
  return offset < 0 ? nullptr : model.parameters + offset;
}

static void cut_network(Cutter& cut, const EntnetModel& model, Network& net) {
  net.L = model.sentence_length, net.V = model.vocabulary, net.d = model.width, net.m = model.slots;
  net.D = padded(net.d), net.M = padded(net.m);
  net.embedding = {part(model, model.embedding), net.d, net.D};
  net.ordinals = part(model, model.ordinals), net.ordinal_count = model.ordinal_count;
  const int64_t square = net.d * net.D;
  const bool masked = model.story_mask >= 0 || model.fixed_mask;
  net.story_mask = masked ? cut.floats(net.L * net.D) : nullptr;
  net.question_mask = model.question_mask >= 0 ? cut.floats(net.L * net.D) : net.story_mask;
  net.gate_mask = model.gate_mask >= 0 ? cut.floats(net.L * net.D) : nullptr;
  net.matrix_V = net.matrix_Vt = net.matrix_W = net.matrix_Wt = nullptr;
  if (model.matrix_V == ENTNET_TRAINED) net.matrix_V = cut.floats(square), net.matrix_Vt = cut.floats(square);
  if (model.matrix_W == ENTNET_TRAINED) net.matrix_W = cut.floats(square), net.matrix_Wt = cut.floats(square);
  net.bias = cut.floats(net.D);
  net.keys = cut.floats(net.m * net.D);
  net.key_input = cut.floats(net.m * net.D);
  net.slope = cut.floats(net.D);

  MemoryWeights& memory = net.memory;
  memory.m = net.m, memory.d = net.d, memory.D = net.D, memory.M = net.M;
  memory.normalise = model.normalise != 0, memory.norm_floor = (float)model.norm_floor;
  memory.gate = gate_shape(model.gate);
  memory.U = model.matrix_U == ENTNET_ZERO ? nullptr : cut.floats(square);
  memory.Ut = model.matrix_U == ENTNET_ZERO ? nullptr : cut.floats(square);
  memory.slope = net.slope;
  memory.gate_bias = cut.floats(net.M);

  ReadWeights& read = net.read;
  read.over_slots = model.over_slots != 0;
  read.hops = read.over_slots ? 1 : model.hops;
  read.m = net.m, read.d = net.d, read.D = net.D, read.M = net.M;
  read.answers = read.over_slots ? net.m : net.V;
  read.A = padded(read.answers);
  read.allowed = read.over_slots ? nullptr : model.allowed;
  read.slope = model.read_slope >= 0 ? cut.floats(net.D) : net.slope;
  read.H = read.Ht = read.R = read.Rt = nullptr;
  if (read.over_slots) return;
  read.H = cut.floats(square);
  read.Ht = cut.floats(square);
  read.R = cut.floats(net.V * net.D);
  read.Rt = cut.floats(net.d * read.A);
}

static void pack_matrix(const float* from, int64_t rows, int64_t d, const float* plain, int64_t plain_width,
                        const float* transposed, int64_t transposed_width) {
  pad_rows(const_cast<float*>(plain), from, rows, d, plain_width);
  transpose(const_cast<float*>(transposed), from, rows, d, transposed_width);
}

static void pack_identity(int64_t d, int64_t D, const float* to) {
  float* out = const_cast<float*>(to);
  fill_zero(out, d * D);
  for (int64_t i = 0; i < d; ++i) out[i * D + i] = 1.0f;
}

static void pack_slope(const float* from, int64_t units, int64_t d, int64_t D, const float* to) {
  float* out = const_cast<float*>(to);
  if (from && units == d)
    pad_row(out, from, d, D);
  else
    for (int64_t i = 0; i < D; i += LANES) store(out + i, splat(from ? *from : 1.0f));
}

// V w_j and the bias, for these keys.
static void key_input_of(const Network& net, int64_t matrix_V, const float* keys, float* out) {
  for (int64_t j = 0; j < net.m; ++j)
    for (int64_t i = 0; i < net.D; i += LANES) {
      const vec start = load(net.bias + i);
      const int64_t at = j * net.D + i;
      store(out + at, matrix_V == ENTNET_IDENTITY ? start + load(keys + at) : start);
    }
  if (matrix_V == ENTNET_TRAINED) gemm_add<ROWS>(net.m, net.D, net.d, keys, net.D, net.matrix_Vt, net.D, out, net.D);
}

// w_j from embeddings, with dropped dimensions where `keep` (D) is given; `ordinals` (m), or null, says which of its
// word's slots each is.
static void keys_of_words(const Network& net, const int64_t* words, const int64_t* ordinals, const float* keep,
                          float* out) {
  for (int64_t j = 0; j < net.m; ++j) {
    float* row = out + j * net.D;
    pad_row(row, net.embedding.rows + words[j] * net.d, net.d, net.D);
    if (ordinals && ordinals[j])
      for (int64_t i = 0; i < net.d; ++i) row[i] += net.ordinals[(ordinals[j] - 1) * net.d + i];
    if (keep)
      for (int64_t i = 0; i < net.D; i += LANES) store(row + i, load(row + i) * load(keep + i));
  }
}

static void pack_memory(const EntnetModel& model, const Network& net) {
  const MemoryWeights& memory = net.memory;
  const int64_t d = net.d, D = net.D;
  if (model.matrix_U == ENTNET_TRAINED)
    pack_matrix(part(model, model.U), d, d, memory.U, D, memory.Ut, D);
  else if (model.matrix_U == ENTNET_IDENTITY)
    pack_identity(d, D, memory.U), pack_identity(d, D, memory.Ut);
  pack_slope(part(model, model.slope), model.slope_units, d, D, memory.slope);
  float* gate_bias = const_cast<float*>(memory.gate_bias);
  fill_zero(gate_bias, net.M);
  if (model.gate_bias >= 0) memcpy(gate_bias, part(model, model.gate_bias), (size_t)net.m * sizeof(float));
  if (net.matrix_V) pack_matrix(part(model, model.V), d, d, net.matrix_V, D, net.matrix_Vt, D);
  if (net.matrix_W) pack_matrix(part(model, model.W), d, d, net.matrix_W, D, net.matrix_Wt, D);
  fill_zero(net.bias, D);
  if (model.candidate_bias >= 0) pad_row(net.bias, part(model, model.candidate_bias), d, D);
  if (net.keys_per_story) return;
  if (model.keys >= 0)
    pad_rows(net.keys, part(model, model.keys), net.m, d, D);
  else
    keys_of_words(net, model.key_words, nullptr, nullptr, net.keys);
  key_input_of(net, model.matrix_V, net.keys, net.key_input);
}

static Network place_network(const EntnetModel& model, bool keys_per_story, Workspace* space, bool fresh) {
  Network net;
  Cutter measure;
  cut_network(measure, model, net);
  Cutter cut{fresh ? reserve(&space->shared, measure.at) : space->shared.data};
  cut_network(cut, model, net);
  net.keys_per_story = keys_per_story;
  return net;
}

static Network pack_network(const EntnetModel& model, bool keys_per_story, Workspace* space) {
  const Network net = place_network(model, keys_per_story, space, true);
  const int64_t d = net.d, D = net.D;
  const float* mask = model.story_mask >= 0 ? part(model, model.story_mask) : model.fixed_mask;
  if (mask) pad_rows(net.story_mask, mask, net.L, d, D);
  if (model.question_mask >= 0) pad_rows(net.question_mask, part(model, model.question_mask), net.L, d, D);
  if (model.gate_mask >= 0) pad_rows(net.gate_mask, part(model, model.gate_mask), net.L, d, D);
  pack_memory(model, net);
  const ReadWeights& read = net.read;
  if (model.read_slope >= 0) pack_slope(part(model, model.read_slope), model.slope_units, d, D, read.slope);
  if (!read.over_slots) {
    pack_matrix(part(model, model.H), d, d, read.H, D, read.Ht, D);
    pack_matrix(part(model, model.R), net.V, d, read.R, D, read.Rt, read.A);
  }
  return net;
}

}  // namespace ENTNET_ISA
