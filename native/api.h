// The plain C interface of the library: what Python passes, field by field, through ctypes.
#pragma once

#include <cstdint>

extern "C" {

enum EntnetMatrix { ENTNET_ZERO = 0, ENTNET_IDENTITY = 1, ENTNET_TRAINED = 2 };

// A network. Numbers after `parameters` are offsets of its parts in it, in floats; -1 for what it lacks.
struct EntnetModel {
  int64_t slots, width, vocabulary, sentence_length;
  int64_t over_slots, normalise, close_on_empty, slope_units;
  int64_t matrix_U, matrix_V, matrix_W;  // EntnetMatrix
  double norm_floor;
  const float* fixed_mask;       // (L, d), where the mask is not trained and not all ones
  const int64_t* key_words;      // (m), where keys are tied to words
  const unsigned char* allowed;  // (|V|), where only some words can be answers
  float* parameters;
  int64_t parameter_count;
  int64_t embedding, keys, U, V, W, H, R, slope, read_slope, gate_bias, candidate_bias;
  int64_t story_mask, question_mask, gate_mask;
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

// Rounds of attention over what each question looks back on, K of them. Without H, hop k attends to layer k and
// reads out layer k + 1; with it, all attend to the first and read out the second. Arrays are dense float32.
struct EntnetHops {
  int64_t questions, ages, layers, width, hops;
  int64_t linear;         // scores themselves, not their softmax
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
}
