// The LSTM of the paper's comparison, one word of all sequences at a time.
//
//   c = sigmoid(f) c' + sigmoid(i) tanh(z),   h = sigmoid(o) tanh(c),   (o, i, f, z) = table[word] + U h'
//
// Gates lie side by side, each padded to P columns; padding is zero and stays zero.
#pragma once

#include "gemm.h"
#include "kernel.h"

namespace ENTNET_ISA {

struct LstmSpace {
  int64_t H, P;
  float* table;          // (|V|, 4P)
  float* Ut;             // (H, 4P)
  float* U;              // (4P, P)
  float *hidden, *cell;  // (S, P) at the start; going back, gradients of the states in hand
  float* dtable;         // (|V|, 4P)
  float* dUt;            // (H, 4P)
  float* dgates;         // (S, 4P)
  float* start;          // (S, P) hidden states at the start, going back
};

static void cut_lstm(Cutter& cut, const EntnetLstm& a, bool backward, LstmSpace& out) {
  const int64_t H = a.units, P = padded(H), S = a.sequences;
  out.H = H, out.P = P;
  out.hidden = cut.floats(S * P);
  out.cell = cut.floats(S * P);
  out.table = backward ? nullptr : cut.floats(a.vocabulary * 4 * P);
  out.Ut = backward ? nullptr : cut.floats(H * 4 * P);
  out.U = backward ? cut.floats(4 * P * P) : nullptr;
  out.dtable = backward ? cut.floats(a.vocabulary * 4 * P) : nullptr;
  out.dUt = backward ? cut.floats(H * 4 * P) : nullptr;
  out.dgates = backward ? cut.floats(S * 4 * P) : nullptr;
  out.start = backward ? cut.floats(2 * S * P) : nullptr;
}

static LstmSpace lstm_space(const EntnetLstm& a, bool backward, Workspace* space) {
  LstmSpace out;
  Cutter measure;
  cut_lstm(measure, a, backward, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_lstm(cut, a, backward, out);
  return out;
}

static void lstm_pointwise(const LstmSpace& s, int64_t rows, float* gates, const float* before, float* cells,
                           float* hiddens) {
  const int64_t P = s.P;
  for (int64_t r = 0; r < rows; ++r) {
    float* g = gates + r * 4 * P;
    for (int64_t k = 0; k < P; k += LANES) {
      const vec o = sigmoid(load(g + k)), i = sigmoid(load(g + P + k));
      const vec f = sigmoid(load(g + 2 * P + k)), z = vtanh(load(g + 3 * P + k));
      const vec c = f * load(before + r * P + k) + i * z;
      store(g + k, o), store(g + P + k, i), store(g + 2 * P + k, f), store(g + 3 * P + k, z);
      store(cells + r * P + k, c);
      store(hiddens + r * P + k, o * vtanh(c));
    }
  }
}

static void lstm_forward(const EntnetLstm* arguments, Workspace* space) {
  const FlushDenormals flush;
  const EntnetLstm& a = *arguments;
  const LstmSpace s = lstm_space(a, false, space);
  const int64_t H = s.H, P = s.P, G = 4 * P;
  for (int64_t row = 0; row < 4 * a.vocabulary; ++row) pad_row(s.table + row * P, a.table + row * H, H, P);
  for (int64_t k = 0; k < H; ++k)
    for (int64_t gate = 0; gate < 4; ++gate)
      for (int64_t j = 0; j < P; ++j)
        s.Ut[k * G + gate * P + j] = j < H ? a.U[(gate * H + j) * H + k] : 0.0f;
  pad_rows(s.hidden, a.hidden, a.sequences, H, P);
  pad_rows(s.cell, a.cell, a.sequences, H, P);
  const float *h = s.hidden, *c = s.cell;
  int64_t first = 0;
  for (int64_t t = 0; t < a.steps; ++t) {
    const int64_t active = a.active[t];
    float* gates = a.gates + first * G;
    for (int64_t r = 0; r < active; ++r)
      memcpy(gates + r * G, s.table + a.words[first + r] * G, (size_t)G * sizeof(float));
    gemm_add<ROWS>(active, G, H, h, P, s.Ut, G, gates, G);
    lstm_pointwise(s, active, gates, c, a.cells + first * P, a.hiddens + first * P);
    h = a.hiddens + first * P, c = a.cells + first * P;
    first += active;
  }
}

// Gradients of the gates' arguments in one step, and of the cells before it.
static void lstm_pointwise_backward(const LstmSpace& s, int64_t rows, const float* gates, const float* cells,
                                    const float* before, const float* dhiddens, const float* dcells) {
  const int64_t P = s.P;
  const vec one = splat(1.0f);
  for (int64_t r = 0; r < rows; ++r) {
    const float* g = gates + r * 4 * P;
    float* dg = s.dgates + r * 4 * P;
    for (int64_t k = 0; k < P; k += LANES) {
      const int64_t at = r * P + k;
      const vec o = load(g + k), i = load(g + P + k), f = load(g + 2 * P + k), z = load(g + 3 * P + k);
      const vec squashed = vtanh(load(cells + at));
      const vec dh = load(s.hidden + at) + load(dhiddens + at);
      const vec dc = load(s.cell + at) + load(dcells + at) + dh * o * (one - squashed * squashed);
      store(dg + k, dh * squashed * o * (one - o));
      store(dg + P + k, dc * z * i * (one - i));
      store(dg + 2 * P + k, dc * load(before + at) * f * (one - f));
      store(dg + 3 * P + k, dc * i * (one - z * z));
      store(s.cell + at, dc * f);
    }
  }
}

static void lstm_backward(const EntnetLstm* arguments, const EntnetLstmGradients* out, Workspace* space) {
  const FlushDenormals flush;
  const EntnetLstm& a = *arguments;
  const LstmSpace s = lstm_space(a, true, space);
  const int64_t H = s.H, P = s.P, G = 4 * P, S = a.sequences;
  float *start_hidden = s.start, *start_cell = s.start + S * P;
  pad_rows(start_hidden, a.hidden, S, H, P);
  pad_rows(start_cell, a.cell, S, H, P);
  fill_zero(s.U, G * P);
  for (int64_t gate = 0; gate < 4; ++gate)
    pad_rows(s.U + gate * P * P, a.U + gate * H * H, H, H, P);
  fill_zero(s.dtable, a.vocabulary * G);
  fill_zero(s.dUt, H * G);
  fill_zero(s.hidden, S * P);
  fill_zero(s.cell, S * P);
  int64_t first = a.rows;
  for (int64_t t = a.steps - 1; t >= 0; --t) {
    const int64_t active = a.active[t];
    first -= active;
    const int64_t previous = t ? first - a.active[t - 1] : 0;
    const float* h = t ? a.hiddens + previous * P : start_hidden;
    const float* c = t ? a.cells + previous * P : start_cell;
    lstm_pointwise_backward(s, active, a.gates + first * G, a.cells + first * P, c, out->hiddens + first * P,
                            out->cells + first * P);
    for (int64_t r = 0; r < active; ++r) axpy(s.dtable + a.words[first + r] * G, 1.0f, s.dgates + r * G, G);
    gemm_add<COLUMNS>(H, G, active, h, P, s.dgates, G, s.dUt, G);
    gemm<ROWS>(active, P, G, s.dgates, G, s.U, P, s.hidden, P);
  }
  for (int64_t row = 0; row < 4 * a.vocabulary; ++row) unpad_row(out->table + row * H, s.dtable + row * P, H);
  for (int64_t gate = 0; gate < 4; ++gate)
    for (int64_t j = 0; j < H; ++j)
      for (int64_t k = 0; k < H; ++k) out->U[(gate * H + j) * H + k] = s.dUt[k * G + gate * P + j];
  unpad_rows(out->hidden, s.hidden, S, H, P);
  unpad_rows(out->cell, s.cell, S, H, P);
}

}  // namespace ENTNET_ISA
