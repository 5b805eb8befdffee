// A thread's room: its stories' sentences and questions, the story in hand, and the sums of gradients.
#pragma once

#include "network.h"

namespace ENTNET_ISA {

// Gradients that a thread sums over its stories, padded like the weights.
struct Sums {
  float *story_mask, *question_mask, *gate_mask;
  float *U, *V, *W, *H, *R;
  float *slope, *read_slope, *gate_bias, *bias, *keys, *key_input, *ordinals;
  float* start;
  int64_t size;
};

// Sentences and questions stand in the order in which the thread takes its stories.
struct ThreadSpace {
  float *sentences, *gate, *candidate;     // (N, D)
  float *dsentences, *dgate, *dcandidate;  // (N, D)
  unsigned char *closed, *quiet;           // (N)
  Reading reading;                         // of all Q questions
  const float** memory_read;               // (Q)
  const int64_t** answers;                 // (Q)
  int64_t** predictions;                   // (Q)
  float *keys, *key_input, *keep;          // of the story in hand: (m, D), (m, D), (D)
  float* noise;                            // of the same: (T, m, D), or null
  int64_t *named, *ordinals, *live, *asked_live;  // of the same, where slots are named: (m), (T), (Q)
  StoryTrace trace;
  ScanScratch scratch;
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
  out.ordinals = cut.floats(net.ordinal_count * net.D);
  out.size = (int64_t)((cut.at - start) / sizeof(float));
  cut.gaps = true;
}

static void cut_reading(Cutter& cut, const Network& net, int64_t Q, Reading& out) {
  const int64_t K = net.read.hops;
  float** const rows[] = {&out.u, &out.z, &out.v, &out.dv, &out.du};
  for (float** row : rows) *row = cut.floats(K * Q * net.D);
  out.q = cut.floats(Q * net.D);
  out.dq = cut.floats(Q * net.D);
  out.p = cut.floats(K * Q * net.M);
  out.dscore = cut.floats(K * Q * net.M);
  out.y = cut.floats(Q * net.read.A);
  out.Q = Q;
  out.hop_rows = Q * net.D, out.hop_slots = Q * net.M;
}

// N sentences and Q questions in all, T sentences in the longest story.
static void cut_thread(Cutter& cut, const EntnetModel& model, const Network& net, int64_t N, int64_t Q,
                       int64_t T, bool training, bool noisy, ThreadSpace& out) {
  const int64_t size = net.m * net.D;
  out.sentences = cut.floats(N * net.D);
  out.gate = net.gate_mask ? cut.floats(N * net.D) : out.sentences;
  out.candidate = model.matrix_W == ENTNET_IDENTITY ? out.sentences : cut.floats(N * net.D);
  out.closed = static_cast<unsigned char*>(cut.bytes((size_t)N));
  out.quiet = static_cast<unsigned char*>(cut.bytes((size_t)N));
  cut_reading(cut, net, Q, out.reading);
  out.memory_read = static_cast<const float**>(cut.bytes((size_t)Q * sizeof(void*)));
  out.answers = static_cast<const int64_t**>(cut.bytes((size_t)Q * sizeof(void*)));
  out.predictions = static_cast<int64_t**>(cut.bytes((size_t)Q * sizeof(void*)));
  out.keys = net.keys_per_story ? cut.floats(size) : net.keys;
  out.key_input = net.keys_per_story ? cut.floats(size) : net.key_input;
  out.keep = cut.floats(net.D);
  out.noise = noisy ? cut.floats(T * size) : nullptr;
  out.named = out.ordinals = out.live = out.asked_live = nullptr;
  if (model.entity) {
    out.named = static_cast<int64_t*>(cut.bytes((size_t)net.m * sizeof(int64_t)));
    out.ordinals = static_cast<int64_t*>(cut.bytes((size_t)net.m * sizeof(int64_t)));
    out.live = static_cast<int64_t*>(cut.bytes((size_t)T * sizeof(int64_t)));
    out.asked_live = static_cast<int64_t*>(cut.bytes((size_t)Q * sizeof(int64_t)));
  }
  out.trace.states = cut.floats((T + 1) * size);
  out.trace.x = cut.floats(T * size);
  out.trace.p = cut.floats(T * net.M);
  out.trace.g = net.memory.gate.shuts ? cut.floats(T * net.M) : out.trace.p;
  out.trace.inverse = cut.floats(T * net.M);
  if (!training) return;
  // Without an encoder of its own, the gate reads the same sentence, and adds to the same gradient.
  out.dgate = cut.floats(N * net.D);
  out.dsentences = net.gate_mask ? cut.floats(N * net.D) : out.dgate;
  out.dcandidate = cut.floats(N * net.D);
  out.scratch.block = sentences_per_block(net.m, net.D);
  out.scratch.dh = cut.floats(size);
  out.scratch.dx = cut.floats(out.scratch.block * size);
  out.scratch.dlogit = cut.floats(T * net.M);
  cut_sums(cut, model, net, out.sums);
}

}  // namespace ENTNET_ISA
