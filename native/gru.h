// A GRU, one step of all sequences at a time, and the attention GRU of DMN+.
//
//   r = sigmoid(x_r + U_r h),   n = tanh(x_n + r (U_n h)),   z = sigmoid(x_z + U_z h)
//   h <- z h + (1 - z) n,   or with attention g:   h <- (1 - g) h + g n
//
// Gates lie side by side, each padded to P columns; padding is zero and stays zero.
#pragma once

#include "gemm.h"
#include "kernel.h"

namespace ENTNET_ISA {

struct GruSpace {
  int64_t H, P, B, G;  // G = B P: the gates that the state has a share of
  float* Ut;           // (H, G)
  float* U;            // (G, P)
  float* hidden;       // (S, P) at the start
  float* shares;       // (S, G) U h; going back, gradients of it
  float* dhidden;      // (S, P) gradients of the states in hand
  float* dUt;          // (H, G)
};

static void cut_gru(Cutter& cut, const EntnetGru& a, bool backward, GruSpace& out) {
  const int64_t H = a.units, P = padded(H), S = a.sequences, B = a.attention ? 2 : 3;
  out.H = H, out.P = P, out.B = B, out.G = B * P;
  out.hidden = cut.floats(S * P);
  out.shares = cut.floats(S * out.G);
  out.Ut = backward ? nullptr : cut.floats(H * out.G);
  out.U = backward ? cut.floats(out.G * P) : nullptr;
  out.dhidden = backward ? cut.floats(S * P) : nullptr;
  out.dUt = backward ? cut.floats(H * out.G) : nullptr;
}

static GruSpace gru_space(const EntnetGru& a, bool backward, Workspace* space) {
  GruSpace out;
  Cutter measure;
  cut_gru(measure, a, backward, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_gru(cut, a, backward, out);
  pad_rows(out.hidden, a.hidden, a.sequences, out.H, out.P);
  return out;
}

// Gates, which hold the input's shares before, and the states after a step.
static void gru_pointwise(const GruSpace& s, int64_t rows, float* gates, const float* attention, const float* before,
                          float* hiddens) {
  const int64_t P = s.P;
  const vec one = splat(1.0f);
  for (int64_t row = 0; row < rows; ++row) {
    float* g = gates + row * 4 * P;
    const float* share = s.shares + row * s.G;
    for (int64_t k = 0; k < P; k += LANES) {
      const vec r = sigmoid(load(g + k) + load(share + k)), u = load(share + P + k);
      const vec n = vtanh(load(g + P + k) + r * u);
      const vec z = attention ? one - splat(attention[row]) : sigmoid(load(g + 2 * P + k) + load(share + 2 * P + k));
      store(g + k, r), store(g + P + k, n), store(g + 2 * P + k, z), store(g + 3 * P + k, u);
      store(hiddens + row * P + k, z * load(before + row * P + k) + (one - z) * n);
    }
  }
}

static void gru_forward(const EntnetGru* arguments, Workspace* space) {
  const FlushDenormals flush;
  const EntnetGru& a = *arguments;
  const GruSpace s = gru_space(a, false, space);
  const int64_t H = s.H, P = s.P, B = s.B, G = s.G;
  for (int64_t k = 0; k < H; ++k)
    for (int64_t gate = 0; gate < B; ++gate)
      for (int64_t j = 0; j < P; ++j) s.Ut[k * G + gate * P + j] = j < H ? a.U[(gate * H + j) * H + k] : 0.0f;
  const float* h = s.hidden;
  int64_t first = 0;
  for (int64_t t = 0; t < a.steps; ++t) {
    const int64_t active = a.active[t];
    float *gates = a.gates + first * 4 * P, *hiddens = a.hiddens + first * P;
    for (int64_t r = 0; r < active; ++r)
      for (int64_t gate = 0; gate < B; ++gate)
        pad_row(gates + (r * 4 + gate) * P, a.inputs + ((first + r) * B + gate) * H, H, P);
    gemm<ROWS>(active, G, H, h, P, s.Ut, G, s.shares, G);
    gru_pointwise(s, active, gates, a.attention ? a.attention + first : nullptr, h, hiddens);
    h = hiddens;
    first += active;
  }
}

// Gradients of one step: of the inputs, of the attention, of the state's shares (into s.shares), and what goes
// straight to the states before (into s.dhidden).
static void gru_pointwise_backward(const GruSpace& s, int64_t rows, const float* gates, const float* before,
                                   const float* dhiddens, float* dinputs, float* dattention) {
  const int64_t H = s.H, P = s.P;
  const vec one = splat(1.0f);
  for (int64_t row = 0; row < rows; ++row) {
    const float* g = gates + row * 4 * P;
    float *dshare = s.shares + row * s.G, *dinput = dinputs + row * s.B * H;
    vec pull = zero();
    for (int64_t k = 0; k < P; k += LANES) {
      const int64_t at = row * P + k;
      const vec r = load(g + k), n = load(g + P + k), z = load(g + 2 * P + k), u = load(g + 3 * P + k);
      const vec dh = load(s.dhidden + at) + load(dhiddens + at);
      const vec dn = dh * (one - z) * (one - n * n);
      const vec dr = dn * u * r * (one - r), apart = dh * (load(before + at) - n);
      store(dshare + k, dr);
      store(dshare + P + k, dn * r);
      if (dattention)
        pull -= apart;
      else
        store(dshare + 2 * P + k, apart * z * (one - z));
      store(s.dhidden + at, dh * z);
      const int64_t left = H - k;
      if (left >= LANES) {
        store_any(dinput + k, dr);
        store_any(dinput + H + k, dn);
        if (!dattention) store_any(dinput + 2 * H + k, load(dshare + 2 * P + k));
      } else if (left > 0) {
        store_part(dinput + k, dr, left);
        store_part(dinput + H + k, dn, left);
        if (!dattention) store_part(dinput + 2 * H + k, load(dshare + 2 * P + k), left);
      }
    }
    if (dattention) dattention[row] = hsum(pull);
  }
}

static void gru_backward(const EntnetGru* arguments, const EntnetGruGradients* out, Workspace* space) {
  const FlushDenormals flush;
  const EntnetGru& a = *arguments;
  const GruSpace s = gru_space(a, true, space);
  const int64_t H = s.H, P = s.P, B = s.B, G = s.G, S = a.sequences;
  fill_zero(s.U, G * P);
  for (int64_t gate = 0; gate < B; ++gate) pad_rows(s.U + gate * P * P, a.U + gate * H * H, H, H, P);
  fill_zero(s.dUt, H * G);
  fill_zero(s.dhidden, S * P);
  int64_t first = a.rows;
  for (int64_t t = a.steps - 1; t >= 0; --t) {
    const int64_t active = a.active[t];
    first -= active;
    const float* h = t ? a.hiddens + (first - a.active[t - 1]) * P : s.hidden;
    gru_pointwise_backward(s, active, a.gates + first * 4 * P, h, out->hiddens + first * P,
                           out->inputs + first * B * H, a.attention ? out->attention + first : nullptr);
    gemm_add<COLUMNS>(H, G, active, h, P, s.shares, G, s.dUt, G);
    gemm_add<ROWS>(active, P, G, s.shares, G, s.U, P, s.dhidden, P);
  }
  for (int64_t gate = 0; gate < B; ++gate)
    for (int64_t j = 0; j < H; ++j)
      for (int64_t k = 0; k < H; ++k) out->U[(gate * H + j) * H + k] = s.dUt[k * G + gate * P + j];
  unpad_rows(out->hidden, s.dhidden, S, H, P);
}

}  // namespace ENTNET_ISA
