// Memory machines, one step of all sequences at a time: the LSTM and its interface are products over all of them,
// memories belong to one. Going back, memories and links are computed again from checkpoints, SEGMENT steps at a time.
#pragma once

#include "links.h"
#include "lstm.h"

namespace ENTNET_ISA {

constexpr int64_t SEGMENT = 16;

// Gradients that a step hands to the one before it, of one sequence.
struct Carried {
  float *memory, *links;                        // (W, PN), (N, PN)
  float *written, *read, *usage, *precedence;   // (PN), (R, PN), (PN), (PN)
};

struct MachineSpace {
  MachineSizes size;
  float *Ut, *Bt;            // (KP, 4P), (P, IP); going back U (4P, KP) and B (IP, P)
  float* norms;              // padded gains and shifts: (4P) twice, (P) twice, (IP) twice
  float* dnorms;             // going back, gradients of them
  float *start, *cell;       // (S, KP), (S, P)
  float* before;             // (S, trace) what the first step takes for its past
  float* ring;               // (2, S, trace) where no trace is kept
  float *memories, *links;   // (S, W PN), (S, N PN); going back (SEGMENT + 1) and SEGMENT of each
  float* asked;              // (IP) the squashed interface
  float* dasked;             // (IP)
  float* kept;               // (PN) ψ
  float *mixed, *moved;      // (PN) twice
  float *dwritten, *dfound, *dkept, *dallocated;  // (PN) each
  float *dread, *dcontent, *dforward, *dbackward; // (R + 1, PN) each
  float* dreads;             // (RP)
  ContentSpace content;
  float *drecurrent, *dcell; // (S, KP), (S, P)
  float* dnormed;            // (S, 4P)
  Carried* carried;          // (S)
};

static void cut_machine(Cutter& cut, const EntnetMachine& a, bool backward, MachineSpace& out) {
  const MachineSizes s = machine_sizes(a);
  const int64_t S = a.sequences, heads = s.R + 1, link_states = s.links ? s.N * s.PN : 0;
  out.size = s;
  out.Ut = cut.floats(s.KP * 4 * s.P), out.Bt = cut.floats(s.P * s.IP);
  const int64_t norms = a.normalise ? 10 * s.P + 2 * s.IP : 0;
  out.norms = cut.floats(norms), out.dnorms = cut.floats(backward ? norms : 0);
  out.start = cut.floats(S * s.KP), out.cell = cut.floats(S * s.P);
  out.before = cut.floats(S * s.trace);
  out.ring = cut.floats(a.trace ? 0 : 2 * S * s.trace);
  out.memories = cut.floats(S * s.W * s.PN * (backward ? SEGMENT + 1 : 1));
  out.links = cut.floats(S * link_states * (backward ? SEGMENT : 1));
  out.asked = cut.floats(s.IP), out.dasked = cut.floats(s.IP);
  float** const lanes[] = {&out.kept, &out.mixed, &out.moved, &out.dwritten, &out.dfound, &out.dkept, &out.dallocated};
  for (float** each : lanes) *each = cut.floats(s.PN);
  float** const rows[] = {&out.dread, &out.dcontent, &out.dforward, &out.dbackward, &out.content.dots,
                          &out.content.lengths};
  for (float** each : rows) *each = cut.floats(heads * s.PN);
  out.dreads = cut.floats(s.RP);
  out.content.squares = cut.floats(s.W * s.PN);
  out.content.scaled = cut.floats(heads * s.W), out.content.masks = cut.floats(heads * s.W);
  out.content.key_lengths = cut.floats(heads);
  out.drecurrent = cut.floats(backward ? S * s.KP : 0), out.dcell = cut.floats(backward ? S * s.P : 0);
  out.dnormed = cut.floats(backward ? S * 4 * s.P : 0);
  out.carried = static_cast<Carried*>(cut.bytes((size_t)S * sizeof(Carried)));
  if (!backward) return;
  for (int64_t i = 0; i < S; ++i) {
    Carried c{};
    c.memory = cut.floats(s.W * s.PN), c.links = cut.floats(link_states);
    c.written = cut.floats(s.PN), c.read = cut.floats(s.R * s.PN);
    c.usage = cut.floats(s.PN), c.precedence = cut.floats(s.PN);
    if (!cut.base) continue;
    fill_zero(c.memory, s.W * s.PN), fill_zero(c.links, link_states), fill_zero(c.written, s.PN);
    fill_zero(c.read, s.R * s.PN), fill_zero(c.usage, s.PN), fill_zero(c.precedence, s.PN);
    out.carried[i] = c;
  }
}

static MachineSpace machine_space(const EntnetMachine& a, bool backward, Workspace* space) {
  MachineSpace out;
  Cutter measure;
  cut_machine(measure, a, backward, out);
  Cutter cut{reserve(&space->scratch[0], measure.at)};
  cut_machine(cut, a, backward, out);
  const MachineSizes& s = out.size;
  const int64_t K = s.H + s.RW, G = 4 * s.P;
  const auto row_of = [&](int64_t k) { return k < s.H ? k : s.P + k - s.H; };
  fill_zero(out.Ut, s.KP * G), fill_zero(out.Bt, s.P * s.IP);
  for (int64_t gate = 0; gate < 4; ++gate)
    for (int64_t j = 0; j < s.H; ++j)
      for (int64_t k = 0; k < K; ++k) {
        const float value = a.U[(gate * s.H + j) * K + k];
        if (backward) out.Ut[(gate * s.P + j) * s.KP + row_of(k)] = value;
        else out.Ut[row_of(k) * G + gate * s.P + j] = value;
      }
  for (int64_t i = 0; i < s.I; ++i)
    for (int64_t k = 0; k < s.H; ++k) out.Bt[backward ? i * s.P + k : k * s.IP + i] = a.B[i * s.H + k];
  for (int64_t i = 0; i < a.sequences; ++i) {
    pad_row(out.start + i * s.KP, a.hidden + i * s.H, s.H, s.P);
    pad_row(out.start + i * s.KP + s.P, a.reads + i * s.RW, s.RW, s.RP);
    float* before = out.before + i * s.trace;
    fill_zero(before, s.trace);
    for (int64_t h = 0; h <= s.R; ++h) {
      float* row = before + (h ? s.read + h - 1 : s.written) * s.PN;
      pad_row(row, a.weights + (i * (s.R + 1) + h) * s.N, s.N, s.PN);
    }
    int32_t* order = reinterpret_cast<int32_t*>(before + s.order * s.PN);
    for (int64_t n = 0; !s.ntm && n < s.N; ++n) order[n] = (int32_t)n;
  }
  pad_rows(out.cell, a.cell, a.sequences, s.H, s.P);
  if (a.normalise) {
    float* at = out.norms;
    for (const float* given : {a.gate_gain, a.gate_shift}) pad_rows(at, given, 4, s.H, s.P), at += G;
    for (const float* given : {a.cell_gain, a.cell_shift}) pad_row(at, given, s.H, s.P), at += s.P;
    for (const float* given : {a.interface_gain, a.interface_shift}) pad_row(at, given, s.I, s.IP), at += s.IP;
    if (backward) fill_zero(out.dnorms, 10 * s.P + 2 * s.IP);
  }
  return out;
}

// Blocks of n numbers, each padded to `width`, become (x - mean) / deviation; returns 1 / deviation.
static float normalise_row(float* x, int64_t blocks, int64_t n, int64_t width, float epsilon) {
  float mean = 0.0f, squares = 0.0f;
  const float count = (float)(blocks * n);
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < n; ++i) mean += x[b * width + i];
  mean /= count;
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < n; ++i) squares += (x[b * width + i] - mean) * (x[b * width + i] - mean);
  const float scale = 1.0f / sqrtf(squares / count + epsilon);
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < n; ++i) x[b * width + i] = (x[b * width + i] - mean) * scale;
  return scale;
}

// d, of gain · x + shift, becomes that of x before it was normalised; adds to dgain and dshift.
static void normalise_backward(float* d, const float* x, float scale, int64_t blocks, int64_t n, int64_t width,
                               const float* gain, float* dgain, float* dshift) {
  float mean = 0.0f, along = 0.0f;
  const float count = (float)(blocks * n);
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = b * width; i < b * width + n; ++i) {
      dgain[i] += d[i] * x[i], dshift[i] += d[i];
      d[i] *= gain[i];
      mean += d[i], along += d[i] * x[i];
    }
  mean /= count, along /= count;
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = b * width; i < b * width + n; ++i) d[i] = scale * (d[i] - mean - x[i] * along);
}

// The raw interface of a row: as it is kept, or with gain and shift.
static const float* raw_interface(const EntnetMachine& a, const MachineSpace& m, const float* row, float* room) {
  const MachineSizes& s = m.size;
  if (!a.normalise) return row;
  const float *gain = m.norms + 10 * s.P, *shift = gain + s.IP;
  for (int64_t i = 0; i < s.IP; i += LANES) store(room + i, load(gain + i) * load(row + i) + load(shift + i));
  return room;
}

static void dnc_forward(const MachineSpace& m, const float* before, float* now, float* M, float* L, float* reads) {
  const MachineSizes& s = m.size;
  const int64_t PN = s.PN;
  const float* asked = m.asked;
  const float* masks = s.masking ? asked + s.masks : nullptr;
  const float *past = before + s.written * PN, *seen = before + s.read * PN, *old = before + s.usage * PN;
  float *written = now + s.written * PN, *usage = now + s.usage * PN;
  float *allocated = now + s.allocated * PN, *found = now + s.found * PN, *read = now + s.read * PN;
  retain(s, seen, asked + s.free, m.kept);
  for (int64_t i = 0; i < PN; i += LANES) {
    const vec u = load(old + i), w = load(past + i);
    store(usage + i, (u + w - u * w) * load(m.kept + i));
  }
  memcpy(now + s.order * PN, before + s.order * PN, (size_t)s.N * sizeof(int32_t));
  allocate(s, usage, reinterpret_cast<int32_t*>(now + s.order * PN), allocated);
  content_forward(s, m.content, M, 1, asked + s.keys, masks, asked + s.strengths, found);
  const vec share = splat(asked[s.allocate]), gate = splat(asked[s.gate]);
  for (int64_t i = 0; i < PN; i += LANES)
    store(written + i, gate * (share * load(allocated + i) + (splat(1.0f) - share) * load(found + i)));
  write_memory(s, M, written, s.deallocation ? m.kept : nullptr, asked + s.erase, asked + s.write, M);
  float* content = s.links ? now + s.content * PN : read;
  content_forward(s, m.content, M, s.R, asked + s.keys + s.W, masks ? masks + s.W : nullptr, asked + s.strengths + 1,
                  content);
  if (s.links) {
    const float* precedence = before + s.precedence * PN;
    float *after = now + s.precedence * PN, *forward = now + s.forward * PN, *backward = now + s.backward * PN;
    link_forward(s, L, written, precedence, seen, L, forward, backward);
    vec total = zero();
    for (int64_t i = 0; i < PN; i += LANES) total += load(written + i);
    const vec left = splat(1.0f - hsum(total));
    for (int64_t i = 0; i < PN; i += LANES) store(after + i, left * load(precedence + i) + load(written + i));
    for (int64_t r = 0; r < s.R; ++r) {
      const float *f = forward + r * PN, *b = backward + r * PN, *modes = asked + s.modes + 3 * r;
      if (s.sharpness) {
        sharpen(s, f, asked[s.sharp + r], COSINE_EPSILON, m.mixed);
        sharpen(s, b, asked[s.sharp + s.R + r], COSINE_EPSILON, m.moved);
        f = m.mixed, b = m.moved;
      }
      for (int64_t i = 0; i < PN; i += LANES)
        store(read + r * PN + i, splat(modes[0]) * load(b + i) + splat(modes[1]) * load(content + r * PN + i) +
                                     splat(modes[2]) * load(f + i));
    }
  }
  read_memory(s, M, read, reads);
}

// M and `after` are the memory before and after the step, L the links before it. m.asked is the squashed interface;
// adds to m.dasked. Carried gradients, of what is after the step, become those of what is before it.
static void dnc_backward(const MachineSpace& m, const float* before, const float* now, const float* M,
                         const float* after, const float* L, const float* dreads, Carried& c) {
  const MachineSizes& s = m.size;
  const int64_t PN = s.PN, R = s.R;
  const float* asked = m.asked;
  float* dasked = m.dasked;
  const float* masks = s.masking ? asked + s.masks : nullptr;
  float* dmasks = s.masking ? dasked + s.masks : nullptr;
  const float *past = before + s.written * PN, *seen = before + s.read * PN, *old = before + s.usage * PN;
  const float *written = now + s.written * PN, *usage = now + s.usage * PN, *read = now + s.read * PN;
  const float *allocated = now + s.allocated * PN, *found = now + s.found * PN;
  const vec one = splat(1.0f);
  // Reading.
  memcpy(m.dread, c.read, (size_t)(R * PN) * sizeof(float));
  read_memory_backward(s, after, read, dreads, m.dread, c.memory);
  memcpy(m.dwritten, c.written, (size_t)PN * sizeof(float));
  fill_zero(c.read, R * PN);
  const float* content = read;
  float* dcontent = m.dread;
  if (s.links) {
    content = now + s.content * PN, dcontent = m.dcontent;
    const float *precedence = before + s.precedence * PN, *forward = now + s.forward * PN;
    const float* backward = now + s.backward * PN;
    for (int64_t r = 0; r < R; ++r) {
      const float *f = forward + r * PN, *b = backward + r * PN, *d = m.dread + r * PN;
      const float* modes = asked + s.modes + 3 * r;
      float *df = m.dforward + r * PN, *db = m.dbackward + r * PN, *dmodes = dasked + s.modes + 3 * r;
      if (s.sharpness) {
        sharpen(s, f, asked[s.sharp + r], COSINE_EPSILON, m.mixed);
        sharpen(s, b, asked[s.sharp + R + r], COSINE_EPSILON, m.moved);
        f = m.mixed, b = m.moved;
      }
      dmodes[0] += dot(d, b, PN), dmodes[1] += dot(d, content + r * PN, PN), dmodes[2] += dot(d, f, PN);
      for (int64_t i = 0; i < PN; i += LANES) {
        store(db + i, splat(modes[0]) * load(d + i));
        store(dcontent + r * PN + i, splat(modes[1]) * load(d + i));
        store(df + i, splat(modes[2]) * load(d + i));
      }
      if (s.sharpness) {
        dasked[s.sharp + r] += sharpen_backward(s, forward + r * PN, asked[s.sharp + r], COSINE_EPSILON, f, df);
        dasked[s.sharp + R + r] += sharpen_backward(s, backward + r * PN, asked[s.sharp + R + r], COSINE_EPSILON, b, db);
      }
    }
    vec total = zero();
    for (int64_t i = 0; i < PN; i += LANES) total += load(written + i);
    const vec left = splat(1.0f - hsum(total)), pull = splat(dot(c.precedence, precedence, s.PN));
    for (int64_t i = 0; i < PN; i += LANES) {
      const vec d = load(c.precedence + i);
      store(m.dwritten + i, load(m.dwritten + i) + d - pull);
      store(c.precedence + i, left * d);
    }
    link_backward(s, L, written, precedence, seen, m.dforward, m.dbackward, c.links, c.read, m.dwritten, c.precedence);
  }
  content_backward(s, m.content, after, R, asked + s.keys + s.W, masks ? masks + s.W : nullptr,
                   asked + s.strengths + 1, content, dcontent, c.memory, dasked + s.keys + s.W,
                   dmasks ? dmasks + s.W : nullptr, dasked + s.strengths + 1);
  // Writing.
  retain(s, seen, asked + s.free, m.kept);
  fill_zero(m.dkept, PN);
  write_memory_backward(s, M, written, s.deallocation ? m.kept : nullptr, asked + s.erase, asked + s.write, c.memory,
                        m.dwritten, m.dkept, dasked + s.erase, dasked + s.write);
  const float gate = asked[s.gate], share = asked[s.allocate];
  vec of_gate = zero(), of_share = zero();
  for (int64_t i = 0; i < PN; i += LANES) {
    const vec d = load(m.dwritten + i), free = load(allocated + i), like = load(found + i);
    of_gate += d * (splat(share) * free + splat(1.0f - share) * like);
    of_share += d * (free - like);
    store(m.dallocated + i, d * splat(gate * share));
    store(m.dfound + i, d * splat(gate * (1.0f - share)));
  }
  dasked[s.gate] += hsum(of_gate), dasked[s.allocate] += gate * hsum(of_share);
  content_backward(s, m.content, M, 1, asked + s.keys, masks, asked + s.strengths, found, m.dfound, c.memory,
                   dasked + s.keys, dmasks, dasked + s.strengths);
  // Usage.
  allocate_backward(s, usage, reinterpret_cast<const int32_t*>(now + s.order * PN), m.dallocated, m.mixed, c.usage);
  for (int64_t i = 0; i < PN; i += LANES) {
    const vec d = load(c.usage + i), u = load(old + i), w = load(past + i), by_union = d * load(m.kept + i);
    store(m.dkept + i, load(m.dkept + i) + d * (u + w - u * w));
    store(c.usage + i, by_union * (one - w));
    store(c.written + i, s.usage_gradient ? by_union * (one - u) : zero());
  }
  retain_backward(s, seen, asked + s.free, m.dkept, c.read, dasked + s.free);
}

// out_i = in_(i - by), around the corner, by being -1 or 1.
static void roll(const MachineSizes& s, const float* in, int64_t by, float* out) {
  fill_zero(out, s.PN);
  for (int64_t i = 0; i < s.N; ++i) out[(i + by + s.N) % s.N] = in[i];
}

// Where a head goes, from where it was and what it found: mixed and moved stay in m.
static void move_head(const MachineSpace& m, int64_t head, const float* was, const float* found) {
  const MachineSizes& s = m.size;
  const vec gate = splat(m.asked[s.gates + head]);
  const float* shift = m.asked + s.shifts + 3 * head;
  for (int64_t i = 0; i < s.PN; i += LANES)
    store(m.mixed + i, gate * load(found + i) + (splat(1.0f) - gate) * load(was + i));
  roll(s, m.mixed, -1, m.dfound);
  roll(s, m.mixed, 1, m.dkept);
  for (int64_t i = 0; i < s.PN; i += LANES)
    store(m.moved + i, splat(shift[0]) * load(m.dfound + i) + splat(shift[1]) * load(m.mixed + i) +
                           splat(shift[2]) * load(m.dkept + i));
}

static void ntm_forward(const MachineSpace& m, const float* before, float* now, float* M, float* reads) {
  const MachineSizes& s = m.size;
  const int64_t PN = s.PN;
  const float* asked = m.asked;
  float *written = now + s.written * PN, *read = now + s.read * PN;
  const auto go = [&](int64_t head, const float* was, const float* found, float* out) {
    move_head(m, head, was, found);
    sharpen(s, m.moved, asked[s.powers + head], LOG_FLOOR, out);
  };
  const auto read_heads = [&] {
    float* content = now + s.content * PN;
    content_forward(s, m.content, M, s.R, asked + s.keys + s.W, nullptr, asked + s.strengths + 1, content);
    for (int64_t r = 0; r < s.R; ++r)
      go(r + 1, before + (s.read + r) * PN, content + r * PN, read + r * PN);
    read_memory(s, M, read, reads);
  };
  content_forward(s, m.content, M, 1, asked + s.keys, nullptr, asked + s.strengths, now + s.found * PN);
  go(0, before + s.written * PN, now + s.found * PN, written);
  if (s.read_first) read_heads();
  write_memory(s, M, written, nullptr, asked + s.erase, asked + s.write, M);
  if (!s.read_first) read_heads();
}

// d, of where a head went, becomes that of what it found; dwas is written.
static void move_backward(const MachineSpace& m, int64_t head, const float* was, const float* found,
                          const float* weights, float* d, float* dwas) {
  const MachineSizes& s = m.size;
  const float* shift = m.asked + s.shifts + 3 * head;
  float* dshift = m.dasked + s.shifts + 3 * head;
  move_head(m, head, was, found);
  m.dasked[s.powers + head] += sharpen_backward(s, m.moved, m.asked[s.powers + head], LOG_FLOOR, weights, d);
  dshift[0] += dot(d, m.dfound, s.PN), dshift[1] += dot(d, m.mixed, s.PN), dshift[2] += dot(d, m.dkept, s.PN);
  roll(s, d, 1, m.dfound);
  roll(s, d, -1, m.dkept);
  const float gate = m.asked[s.gates + head];
  vec of_gate = zero();
  for (int64_t i = 0; i < s.PN; i += LANES) {
    const vec mixed = splat(shift[0]) * load(m.dfound + i) + splat(shift[1]) * load(d + i) +
                      splat(shift[2]) * load(m.dkept + i);
    of_gate += mixed * (load(found + i) - load(was + i));
    store(d + i, splat(gate) * mixed);
    store(dwas + i, splat(1.0f - gate) * mixed);
  }
  m.dasked[s.gates + head] += hsum(of_gate);
}

static void ntm_backward(const MachineSpace& m, const float* before, const float* now, const float* M,
                         const float* after, const float* dreads, Carried& c) {
  const MachineSizes& s = m.size;
  const int64_t PN = s.PN;
  const float* asked = m.asked;
  float* dasked = m.dasked;
  const float *written = now + s.written * PN, *read = now + s.read * PN;
  memcpy(m.dwritten, c.written, (size_t)PN * sizeof(float));
  const auto write = [&] {
    write_memory_backward(s, M, written, nullptr, asked + s.erase, asked + s.write, c.memory, m.dwritten, nullptr,
                          dasked + s.erase, dasked + s.write);
  };
  if (s.read_first) write();
  const float *seen = s.read_first ? M : after, *content = now + s.content * PN;
  memcpy(m.dread, c.read, (size_t)(s.R * PN) * sizeof(float));
  read_memory_backward(s, seen, read, dreads, m.dread, c.memory);
  for (int64_t r = 0; r < s.R; ++r)
    move_backward(m, r + 1, before + (s.read + r) * PN, content + r * PN, read + r * PN, m.dread + r * PN,
                  c.read + r * PN);
  content_backward(s, m.content, seen, s.R, asked + s.keys + s.W, nullptr, asked + s.strengths + 1, content, m.dread,
                   c.memory, dasked + s.keys + s.W, nullptr, dasked + s.strengths + 1);
  if (!s.read_first) write();
  move_backward(m, 0, before + s.written * PN, now + s.found * PN, written, m.dwritten, c.written);
  content_backward(s, m.content, M, 1, asked + s.keys, nullptr, asked + s.strengths, now + s.found * PN, m.dwritten,
                   c.memory, dasked + s.keys, nullptr, dasked + s.strengths);
}

// The cell, and what the LSTM puts out before it is thinned out, from the gates' arguments.
static void machine_lstm(const EntnetMachine& a, const MachineSpace& m, int64_t row, const float* before) {
  const MachineSizes& s = m.size;
  const int64_t P = s.P, G = 4 * P;
  float *g = a.gates + row * G, *cell = a.cells + row * P, *raw = a.raw + row * P;
  if (a.normalise) {
    float* normed = a.norm_gates + row * G;
    a.scales[row * 16] = normalise_row(g, 4, s.H, P, (float)a.norm_epsilon);
    memcpy(normed, g, (size_t)G * sizeof(float));
    for (int64_t k = 0; k < G; k += LANES)
      store(g + k, load(m.norms + k) * load(normed + k) + load(m.norms + G + k));
  }
  for (int64_t k = 0; k < P; k += LANES) {
    const vec o = sigmoid(load(g + k)), i = sigmoid(load(g + P + k));
    const vec f = sigmoid(load(g + 2 * P + k)), z = vtanh(load(g + 3 * P + k));
    const vec c = f * load(before + k) + i * z;
    store(g + k, o), store(g + P + k, i), store(g + 2 * P + k, f), store(g + 3 * P + k, z);
    store(cell + k, c);
    store(raw + k, a.normalise ? c : o * vtanh(c));
  }
  if (!a.normalise) return;
  float* normed = a.norm_cells + row * P;
  memcpy(normed, cell, (size_t)P * sizeof(float));
  a.scales[row * 16 + 1] = normalise_row(normed, 1, s.H, P, (float)a.norm_epsilon);
  const float *gain = m.norms + 2 * G, *shift = gain + P;
  for (int64_t k = 0; k < P; k += LANES)
    store(raw + k, load(g + k) * vtanh(load(gain + k) * load(normed + k) + load(shift + k)));
}

// From m.dcell and draw, gradients of the gates' arguments, and m.dcell of the step before.
static void machine_lstm_backward(const EntnetMachine& a, const MachineSpace& m, int64_t row, const float* before,
                                  const float* draw, float* dcell, float* dgates) {
  const MachineSizes& s = m.size;
  const int64_t P = s.P, G = 4 * P;
  const float *g = a.gates + row * G, *cell = a.cells + row * P;
  const vec one = splat(1.0f);
  float* through = m.dnormed;  // (P) what comes to the cell through its tanh
  const float* normed = a.normalise ? a.norm_cells + row * P : nullptr;
  const float *gain = m.norms + 2 * G, *shift = gain + P;
  for (int64_t k = 0; k < P; k += LANES) {
    const vec o = load(g + k), d = load(draw + k);
    const vec squashed = vtanh(normed ? load(gain + k) * load(normed + k) + load(shift + k) : load(cell + k));
    store(dgates + k, d * squashed * o * (one - o));
    store(through + k, d * o * (one - squashed * squashed));
  }
  if (normed)
    normalise_backward(through, normed, a.scales[row * 16 + 1], 1, s.H, P, gain, m.dnorms + 2 * G, m.dnorms + 2 * G + P);
  for (int64_t k = 0; k < P; k += LANES) {
    const vec i = load(g + P + k), f = load(g + 2 * P + k), z = load(g + 3 * P + k);
    const vec dc = load(dcell + k) + load(through + k);
    store(dgates + P + k, dc * z * i * (one - i));
    store(dgates + 2 * P + k, dc * load(before + k) * f * (one - f));
    store(dgates + 3 * P + k, dc * i * (one - z * z));
    store(dcell + k, dc * f);
  }
  if (a.normalise)
    normalise_backward(dgates, a.norm_gates + row * G, a.scales[row * 16], 4, s.H, P, m.norms, m.dnorms, m.dnorms + G);
}

static void machine_forward(const EntnetMachine* arguments, Workspace* space) {
  const FlushDenormals flush;
  const EntnetMachine& a = *arguments;
  const MachineSpace m = machine_space(a, false, space);
  const MachineSizes& s = m.size;
  const int64_t H = s.H, P = s.P, G = 4 * P, S = a.sequences, memory = s.W * s.PN;
  const int64_t links = s.links ? s.N * s.PN : 0;
  fill_zero(m.memories, S * memory), fill_zero(m.links, S * links);
  for (int64_t row = 0; row < S * s.W; ++row)
    for (int64_t i = 0; i < s.N; ++i) m.memories[row * s.PN + i] = (float)a.memory_start;
  const float* cells = m.cell;
  const float* before = m.before;
  int64_t first = 0, checkpoint = 0;
  for (int64_t t = 0; t < a.steps; ++t) {
    const int64_t active = a.active[t], previous = t ? first - a.active[t - 1] : 0;
    if (a.memories && t % SEGMENT == 0) {
      memcpy(a.memories + checkpoint * memory, m.memories, (size_t)(active * memory) * sizeof(float));
      if (links) memcpy(a.link_states + checkpoint * links, m.links, (size_t)(active * links) * sizeof(float));
      checkpoint += active;
    }
    float* recurrent = a.recurrent + first * s.KP;
    for (int64_t r = 0; r < active; ++r) {
      if (t) {
        memcpy(recurrent + r * s.KP, a.hiddens + (previous + r) * P, (size_t)P * sizeof(float));
        memcpy(recurrent + r * s.KP + P, a.found + (previous + r) * s.RP, (size_t)s.RP * sizeof(float));
      } else {
        memcpy(recurrent + r * s.KP, m.start + r * s.KP, (size_t)s.KP * sizeof(float));
      }
    }
    float *gates = a.gates + first * G, *interface = a.interface_rows + first * s.IP;
    pad_rows(gates, a.inputs + first * 4 * H, 4 * active, H, P);
    gemm_add<ROWS>(active, G, s.KP, recurrent, s.KP, m.Ut, G, gates, G);
    for (int64_t r = 0; r < active; ++r) machine_lstm(a, m, first + r, cells + r * P);
    pad_rows(interface, a.asked + first * s.I, active, s.I, s.IP);
    gemm_add<ROWS>(active, s.IP, P, a.raw + first * P, P, m.Bt, s.IP, interface, s.IP);
    float* rows = a.trace ? a.trace + first * s.trace : m.ring + (t % 2) * S * s.trace;
    for (int64_t r = 0; r < active; ++r) {
      float *hidden = a.hiddens + (first + r) * P, *raw = a.raw + (first + r) * P;
      if (a.keep) {
        pad_row(hidden, a.keep + (first + r) * H, H, P);
        for (int64_t k = 0; k < P; k += LANES) store(hidden + k, load(hidden + k) * load(raw + k));
      } else {
        memcpy(hidden, raw, (size_t)P * sizeof(float));
      }
      float* row = interface + r * s.IP;
      if (a.normalise) a.scales[(first + r) * 16 + 2] = normalise_row(row, 1, s.I, s.IP, (float)a.norm_epsilon);
      activate(s, raw_interface(a, m, row, m.dasked), m.asked);
      float* reads = a.found + (first + r) * s.RP;
      fill_zero(reads, s.RP);
      float *M = m.memories + r * memory, *now = rows + r * s.trace;
      if (s.ntm) ntm_forward(m, before + r * s.trace, now, M, reads);
      else dnc_forward(m, before + r * s.trace, now, M, m.links + r * links, reads);
    }
    before = rows, cells = a.cells + first * P;
    first += active;
  }
}

// Memories and links of a segment, from its checkpoint and what was written: slot k is before step `from` + k.
static void replay(const EntnetMachine& a, const MachineSpace& m, int64_t from, int64_t to, int64_t first,
                   int64_t checkpoint) {
  const MachineSizes& s = m.size;
  const int64_t S = a.sequences, memory = s.W * s.PN, links = s.links ? s.N * s.PN : 0;
  const int64_t active = a.active[from];
  memcpy(m.memories, a.memories + checkpoint * memory, (size_t)(active * memory) * sizeof(float));
  if (links) memcpy(m.links, a.link_states + checkpoint * links, (size_t)(active * links) * sizeof(float));
  for (int64_t t = from; t < to; ++t) {
    const int64_t k = t - from;
    for (int64_t r = 0; r < a.active[t]; ++r) {
      const float* now = a.trace + (first + r) * s.trace;
      const float* before = t ? a.trace + (first - a.active[t - 1] + r) * s.trace : m.before + r * s.trace;
      activate(s, raw_interface(a, m, a.interface_rows + (first + r) * s.IP, m.dasked), m.asked);
      if (s.deallocation) retain(s, before + s.read * s.PN, m.asked + s.free, m.kept);
      const float* written = now + s.written * s.PN;
      write_memory(s, m.memories + (k * S + r) * memory, written, s.deallocation ? m.kept : nullptr,
                   m.asked + s.erase, m.asked + s.write, m.memories + ((k + 1) * S + r) * memory);
      if (links && t + 1 < to)
        link_forward(s, m.links + (k * S + r) * links, written, before + s.precedence * s.PN, nullptr,
                     m.links + ((k + 1) * S + r) * links, nullptr, nullptr);
    }
    first += a.active[t];
  }
}

static void machine_backward(const EntnetMachine* arguments, const EntnetMachineGradients* out, Workspace* space) {
  const FlushDenormals flush;
  const EntnetMachine& a = *arguments;
  const MachineSpace m = machine_space(a, true, space);
  const MachineSizes& s = m.size;
  const int64_t P = s.P, G = 4 * P, S = a.sequences, memory = s.W * s.PN, links = s.links ? s.N * s.PN : 0;
  fill_zero(m.drecurrent, S * s.KP), fill_zero(m.dcell, S * P);
  int64_t checkpoint = 0;
  for (int64_t t = 0; t < a.steps; t += SEGMENT) checkpoint += a.active[t];
  int64_t first = a.rows;
  for (int64_t t = a.steps - 1; t >= 0; --t) {
    const int64_t active = a.active[t], from = t / SEGMENT * SEGMENT, k = t - from;
    first -= active;
    if (t == a.steps - 1 || (t + 1) % SEGMENT == 0) {
      int64_t segment = first;
      for (int64_t u = from; u < t; ++u) segment -= a.active[u];
      checkpoint -= a.active[from];
      replay(a, m, from, t + 1, segment, checkpoint);
    }
    float* dinterface = out->interface_rows + first * s.IP;
    for (int64_t r = 0; r < active; ++r) {
      const int64_t row = first + r;
      const float* now = a.trace + row * s.trace;
      const float* before = t ? a.trace + (first - a.active[t - 1] + r) * s.trace : m.before + r * s.trace;
      float* carried = m.drecurrent + r * s.KP;
      for (int64_t i = 0; i < s.RP; i += LANES)
        store(m.dreads + i, load(carried + P + i) + load(out->found + row * s.RP + i));
      float* d = dinterface + r * s.IP;
      const float* raw = raw_interface(a, m, a.interface_rows + row * s.IP, d);
      activate(s, raw, m.asked);
      fill_zero(m.dasked, s.IP);
      const float *M = m.memories + (k * S + r) * memory, *after = m.memories + ((k + 1) * S + r) * memory;
      if (s.ntm) ntm_backward(m, before, now, M, after, m.dreads, m.carried[r]);
      else dnc_backward(m, before, now, M, after, m.links + (k * S + r) * links, m.dreads, m.carried[r]);
      activate_backward(s, raw, m.asked, m.dasked);
      memcpy(d, m.dasked, (size_t)s.IP * sizeof(float));
      if (a.normalise)
        normalise_backward(d, a.interface_rows + row * s.IP, a.scales[row * 16 + 2], 1, s.I, s.IP, m.norms + 10 * P,
                           m.dnorms + 10 * P, m.dnorms + 10 * P + s.IP);
      // What the LSTM put out: carried from the next step, and from outside.
      float* dhidden = carried;
      for (int64_t i = 0; i < P; i += LANES) store(dhidden + i, load(dhidden + i) + load(out->hiddens + row * P + i));
      for (int64_t i = 0; a.keep && i < s.H; ++i) dhidden[i] *= a.keep[row * s.H + i];
    }
    gemm_add<ROWS>(active, P, s.IP, dinterface, s.IP, m.Bt, P, m.drecurrent, s.KP);
    float* dgates = out->gates + first * G;
    const float* cells = t ? a.cells + (first - a.active[t - 1]) * P : m.cell;
    for (int64_t r = 0; r < active; ++r)
      machine_lstm_backward(a, m, first + r, cells + r * P, m.drecurrent + r * s.KP, m.dcell + r * P, dgates + r * G);
    gemm<ROWS>(active, s.KP, G, dgates, G, m.Ut, s.KP, m.drecurrent, s.KP);
  }
  for (int64_t r = 0; r < S; ++r) {
    unpad_row(out->hidden + r * s.H, m.drecurrent + r * s.KP, s.H);
    unpad_row(out->reads + r * s.RW, m.drecurrent + r * s.KP + P, s.RW);
    for (int64_t h = 0; h <= s.R; ++h)
      unpad_row(out->weights + (r * (s.R + 1) + h) * s.N, h ? m.carried[r].read + (h - 1) * s.PN : m.carried[r].written,
                s.N);
  }
  unpad_rows(out->cell, m.dcell, S, s.H, P);
  if (!a.normalise) return;
  const float* at = m.dnorms;
  for (float* given : {out->gate_gain, out->gate_shift}) unpad_rows(given, at, 4, s.H, P), at += G;
  for (float* given : {out->cell_gain, out->cell_shift}) unpad_row(given, at, s.H), at += P;
  for (float* given : {out->interface_gain, out->interface_shift}) unpad_row(given, at, s.I), at += s.IP;
}

}  // namespace ENTNET_ISA
