// The plain C interface of the library: what Python passes, field by field, through ctypes.
#pragma once

#include <cstdint>

extern "C" {

enum EntnetMatrix { ENTNET_ZERO = 0, ENTNET_IDENTITY = 1, ENTNET_TRAINED = 2 };

// Gates that shut: of p = σ(…), `scale p + shift` from `threshold` on, 0 below it; below `learns` without gradient.
struct EntnetGate {
  int64_t shuts;  // 0 for gates that are p itself
  double threshold, scale, shift, learns;
};

// A network. Numbers after `parameters` are offsets of its parts in it, in floats; -1 for what it lacks.
struct EntnetModel {
  int64_t slots, width, vocabulary, sentence_length;
  int64_t over_slots, normalise, close_on_empty, slope_units, hops;
  int64_t matrix_U, matrix_V, matrix_W;  // EntnetMatrix
  double norm_floor;
  EntnetGate gate;
  const float* fixed_mask;       // (L, d), where the mask is not trained and not all ones
  const int64_t* key_words;      // (m), where keys are tied to words
  const unsigned char* allowed;  // (|V|), where only some words can be answers
  const unsigned char* entity;   // (|V|), where a story names its slots: how many a word gets, 0 for most
  float* parameters;
  int64_t parameter_count;
  int64_t embedding, keys, U, V, W, H, R, slope, read_slope, gate_bias, candidate_bias;
  int64_t story_mask, question_mask, gate_mask;
  int64_t ordinals, ordinal_count;  // what the second, third, … slot of a word adds to its embedding
};

struct EntnetBatch {
  int64_t sentences, stories, questions, threads;
  int64_t sentence_length, question_length;  // as the network's L, unless it reads bags of words
  const int64_t* words;           // (N, L)
  const int64_t* story_offsets;   // (S + 1)
  const int64_t* question_words;  // (Q, L)
  const int64_t* question_step;   // (Q)
  const int64_t* answers;         // (Q)
  const int64_t* story_keys;      // (S, m), where keys come with the stories
  const float* keep;              // (S, d), where dropout is on: 0 or 1 / (1 - dropout)
  const unsigned char* quiet;     // (N) sentences that should open no gate; may be null
  const float* noise;             // (N, m, d), added to slots as they are written; may be null
  const float* ends;              // (S, m, d) the memory that each story should end with; may be null
};

struct EntnetUpdate {
  float* gradients;  // like the parameters
  float* first;      // Adam's moments; null for plain gradient descent
  float* second;
  double rate, beta1, beta2, epsilon;
  double clip;        // 0 for no limit
  int64_t mean_loss;  // else the loss is summed
  int64_t zero_null_output;
  int64_t count;      // updates made so far, this one included
  double gate_penalty;  // on every gate that is open for a quiet sentence
  double end_penalty;   // on the squared distance from `ends`, halved
};

// Where a step's time went, in seconds summed over threads.
struct EntnetTimes {
  double pack;    // weights padded and transposed
  double encode;  // (1) and W s, both ways
  double scan;    // (2) to (5), both ways
  double read;    // (6) and the loss, both ways
  double update;  // sums over threads, clipping and the optimiser
};

struct EntnetResult {
  double loss;  // summed over questions
  int64_t errors;
  double gradient_norm;
  EntnetTimes times;
};

// The arguments of memory_scan. Arrays are dense float32; those marked so may be null.
struct EntnetScan {
  int64_t sentences, stories, reads, slots, width, threads;
  int64_t keys_per_story, normalise;
  double norm_floor;
  EntnetGate gate;
  const float *candidate_input, *gate_input, *keys, *key_input;
  const float *U, *slope, *gate_bias;  // may be null
  const int64_t *offsets, *read_at;
  const unsigned char* closed;  // may be null
  float* states;                // (Q, m, d), out
};

// Gradients of memory_scan, all written; null where not wanted.
struct EntnetScanGradients {
  const float* states;  // (Q, m, d), in
  float *candidate_input, *gate_input, *keys, *key_input, *U, *slope, *gate_bias;
};

// An LSTM over many sequences, laid out by time: all first words, all second words, …, longer sequences first.
// P is H rounded up to 16; columns from H on stay zero. Arrays of P columns begin at multiples of 64 bytes.
struct EntnetLstm {
  int64_t units, vocabulary, rows, sequences, steps;
  const int64_t* active;       // (steps) sequences still being read
  const int64_t* words;        // (N) of each row
  const float* table;          // (|V|, 4H) a word's share of the gates: output, input, forget, candidate
  const float* U;              // (4H, H)
  const float *hidden, *cell;  // (S, H) where the sequences start
  float* gates;                // (N, 4P) out
  float *hiddens, *cells;      // (N, P) out
};

// Gradients of it, all written.
struct EntnetLstmGradients {
  const float *hiddens, *cells;  // (N, P), in
  float *table, *U, *hidden, *cell;
};

// A GRU over many sequences, laid out as for the LSTM. Shares of the gates stand in the order reset, candidate,
// update. With `attention`, each row brings how far it overwrites the state, and there is no update gate: B is 2,
// else 3. P is H rounded up to 16; columns from H on stay zero.
struct EntnetGru {
  int64_t units, rows, sequences, steps;
  const int64_t* active;    // (steps) sequences still being read
  const float* inputs;      // (N, B H) the input's share of the gates
  const float* attention;   // (N), may be null
  const float* U;           // (B H, H)
  const float* hidden;      // (S, H) where the sequences start
  float* gates;             // (N, 4P) out: reset, candidate, update, and the state's share of the candidate
  float* hiddens;           // (N, P) out
};

// Gradients of it, all written; `attention` null where that is.
struct EntnetGruGradients {
  const float* hiddens;  // (N, P), in
  float *inputs, *attention, *U, *hidden;
};

// An LSTM with a memory, over many sequences laid out as for the LSTM; see src/entnet/ops/machine.py. P, PN, IP and
// RP are H, the slots, the interface and what is read (R W) rounded up to 16; KP = P + RP. C counts checkpoints: one
// of each sequence still being read, at every sixteenth step.
struct EntnetMachine {
  int64_t ntm, slots, width, heads, units, interface, trace_width;
  int64_t links, masking, deallocation, sharpness, usage_gradient, read_first, normalise;
  double memory_start, norm_epsilon;
  int64_t rows, sequences, steps;
  const int64_t* active;   // (steps) sequences still being read
  const float* inputs;     // (N, 4H)
  const float* U;          // (4H, H + R W)
  const float* B;          // (I, H)
  const float* asked;      // (N, I) added to the interface
  const float* keep;       // (N, H) factors of what the LSTM puts out; may be null
  // Gains and shifts of layer normalisation; null without.
  const float *gate_gain, *gate_shift, *cell_gain, *cell_shift, *interface_gain, *interface_shift;
  const float *hidden, *cell, *reads;  // (S, H), (S, H), (S, R W) at the start
  const float* weights;                // (S, R + 1, slots) at the start, the writing head's first
  // Out, for the way back:
  float *gates, *cells, *raw;              // (N, 4P), (N, P), (N, P): the last before `keep`
  float *recurrent, *interface_rows;       // (N, KP), (N, IP): that normalised, if it is, before gain and shift
  float *norm_gates, *norm_cells, *scales; // (N, 4P), (N, P), (N, 16); null without normalisation
  float *trace, *memories, *link_states;   // (N, trace_width), (C, width PN), (C, slots PN); null if there is no way back
  // Out:
  float *hiddens, *found;  // (N, P), (N, RP)
};

// Gradients of it, all written. Those of U and B follow from the rows: gates' by recurrent, interface's by raw.
struct EntnetMachineGradients {
  const float *hiddens, *found;     // (N, P), (N, RP), in
  float *gates, *interface_rows;    // (N, 4P), (N, IP)
  float *gate_gain, *gate_shift, *cell_gain, *cell_shift, *interface_gain, *interface_shift;  // null without
  float *hidden, *cell, *reads, *weights;
};

// Rounds of attention over what each question looks back on, K of them. Without H, hop k attends to layer k and
// reads out layer k + 1; with it, all attend to the first and read out the second. Arrays are dense float32.
struct EntnetHops {
  int64_t questions, ages, layers, width, hops;
  int64_t linear;         // scores themselves, not their softmax
  int64_t relu;           // states are cut off at 0 after every hop
  const int64_t* heard;   // (Q) of the ages, how many there are
  const float* memories;  // (Q, M, layers, d)
  const float* state;     // (Q, d)
  const float* H;         // (d, d), may be null
  float* states;          // (Q, K + 1, d), out
  float* attention;       // (Q, K, M), out, as far as there is something
};

// Gradients of it, all written.
struct EntnetHopsGradients {
  const float* final;  // (Q, d), in: of the last states
  float *memories, *state;
  float* H;  // null where that is
};

// A layer of a query-reduction network: questions one after the other, each over a number of rows of its own.
struct EntnetReduce {
  int64_t questions, rows, width;
  int64_t ways;            // 1, forwards, or 2, backwards too
  const int64_t* lengths;  // (Q), M in all
  const float* inputs;     // (M, d)
  const float* weights;    // (ways, M)
  const float* passed;     // (M)
  float* reduced;          // (M, d), out: tanh of the inputs
  float* states;           // (ways, M, d), out
};

// Gradients of it, all written.
struct EntnetReduceGradients {
  const float* states;  // (M, d), in: of the sum over both ways
  float *inputs, *weights, *passed;
};

enum { ENTNET_CANDIDATES = 10 };

// The simple network on windows of words; see windows.h. Words below `known` have a row of their own. A word
// from `known` on is new to the network, and takes one of the `oov_rows` rows behind: always the same in
// scoring, another at every reading in training.
struct EntnetWindowsNetwork {
  int64_t width, window, query, known, oov_rows;
  float *embedding, *story_mask, *gate_mask, *question_mask, *gate_bias;  // the bias may be null
  // AdaGrad's sums of squared gradients, like the parameters; null for plain gradient descent.
  float *embedding_squares, *story_squares, *gate_squares, *question_squares, *bias_squares;
};

struct EntnetWindows {
  int64_t count;
  int64_t windows_count;      // N
  const int64_t* offsets;     // (count + 1) where each question's windows start; the last is N
  const int32_t* windows;     // (N, window)
  const int32_t* candidates;  // (count, 10)
  const int32_t* queries;     // (count, query)
  const int32_t* answers;     // (count) the answer's slot
};

struct EntnetWindowsTraining {
  int64_t count, batch;  // questions to read, and how many make an update
  const int64_t* order;  // (count)
  double rate, clip, dropout;
  double oov_probability;  // how often a candidate is read as a word never seen before
  int64_t seed;
  const float* keep;  // (count, width) factors of dropout; null to draw them
  double loss;        // out: summed over questions
  int64_t errors;     // out
};
}
