// Runs every function of the library on small random problems, for the sanitizers to watch.
//
// It checks little of what is computed (the Python tests compare all of it with PyTorch): finite numbers,
// two threads agreeing with one, and gradients against differences. What it is for is memory and
// undefined behaviour: every array is allocated to its exact size.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api.h"

struct Engine;
extern "C" {
const char* entnet_choose_kernel(const char*);
void entnet_poison(int64_t);
const char* entnet_scan_forward(const EntnetScan*);
const char* entnet_scan_backward(const EntnetScan*, const EntnetScanGradients*);
const char* entnet_lstm_forward(const EntnetLstm*);
const char* entnet_lstm_backward(const EntnetLstm*, const EntnetLstmGradients*);
const char* entnet_machine_forward(const EntnetMachine*);
const char* entnet_machine_backward(const EntnetMachine*, const EntnetMachineGradients*);
const char* entnet_gru_forward(const EntnetGru*);
const char* entnet_gru_backward(const EntnetGru*, const EntnetGruGradients*);
const char* entnet_hops_forward(const EntnetHops*);
const char* entnet_hops_backward(const EntnetHops*, const EntnetHopsGradients*);
const char* entnet_reduce_forward(const EntnetReduce*);
const char* entnet_reduce_backward(const EntnetReduce*, const EntnetReduceGradients*);
Engine* entnet_engine_new(const EntnetModel*);
void entnet_engine_free(Engine*);
const char* entnet_train(Engine*, const EntnetBatch*, const EntnetUpdate*, EntnetResult*);
const char* entnet_evaluate(Engine*, const EntnetBatch*, int64_t*, EntnetResult*);
void entnet_stream_pack(Engine*);
const char* entnet_stream_step(Engine*, const int64_t*, int64_t, int64_t, const float*, const float*, float*, float*, float*);
const char* entnet_stream_read(Engine*, const int64_t*, int64_t, int64_t, const float*, float*, float*);
}

void test_windows();  // in files of their own
void test_running();

namespace {

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

uint64_t dice = 1;

int64_t draw(int64_t below) {
  dice = dice * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((dice >> 33) % (uint64_t)below);
}

Floats normal(int64_t count, float scale = 0.5f) {
  Floats out((size_t)count);
  for (float& x : out) x = scale * ((float)draw(2001) - 1000.0f) / 600.0f;
  return out;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

void require_none(const char* problem) { require(!problem, problem ? problem : ""); }

void require_finite(const Floats& values, const char* what) {
  for (float x : values) require(std::isfinite(x), what);
}

Integers offsets_of(int64_t stories, int64_t longest) {
  Integers out{0};
  for (int64_t s = 0; s < stories; ++s) out.push_back(out.back() + 1 + draw(longest));
  return out;
}

double weighted(const Floats& a, const Floats& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double)a[i] * b[i];
  return sum;
}

// The gradient of a total by some values, along a direction drawn at random, against differences. Beside a corner (of a
// ReLU, of a gate that shuts, of an order that changes) the slopes on its two sides differ: one must be the gradient's,
// or a shorter step must pass the corner by. A wrong gradient agrees with none of them.
template <typename Total>
void compare_gradient(const Total& total, Floats& values, const Floats& gradient, const char* what) {
  require_finite(gradient, what);
  const Floats before = values, direction = normal((int64_t)values.size(), 1.0f);
  const double unit = 1.0 / std::sqrt(weighted(direction, direction));
  const double by_hand = unit * weighted(gradient, direction), size = std::sqrt(weighted(gradient, gradient)) * unit;
  const auto moved = [&](double by) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = (float)(before[i] + by * unit * direction[i]);
    return total();
  };
  const double here = total();
  bool agrees = false;
  for (const double step : {1e-2, 2e-3, 5e-4, 2e-4}) {
    const double above = (moved(step) - here) / step, below = (here - moved(-step)) / step;
    for (const double slope : {0.5 * (above + below), above, below})
      agrees = agrees || std::abs(by_hand - slope) < 2e-3 + 0.02 * (size + std::abs(by_hand));
    if (agrees) break;
  }
  values = before;
  require(agrees, what);
}

// Gates as in the paper, or some that shut.
EntnetGate gate_of(unsigned options) {
  if (options % 5 < 2) return {};
  return {1, 0.5, options % 5 == 2 ? 1.0 : 2.0, options % 5 == 2 ? 0.0 : -1.0, options % 5 == 4 ? 0.48 : 0.1};
}

void test_scan(int64_t m, int64_t d, unsigned options, int64_t threads) {
  const bool per_story = options & 1, has_U = options & 2, prelu = options & 4, biased = options & 8;
  const int64_t S = 4;
  const Integers offsets = offsets_of(S, 6);
  const int64_t N = offsets.back(), Q = 5, keys = (per_story ? S : 1) * m * d;
  Floats candidate = normal(N * d), gate = normal(N * d), w = normal(keys), key_input = normal(keys);
  Floats U = normal(d * d, 0.5f / std::sqrt((float)d)), slope = normal(d), bias = normal(m);
  Integers read_at;
  for (int64_t q = 0; q < Q; ++q) read_at.push_back(draw(N));
  std::vector<unsigned char> closed;
  for (int64_t t = 0; t < N; ++t) closed.push_back(draw(4) == 0);
  Floats states((size_t)(Q * m * d));
  EntnetScan scan{N, S, Q, m, d, threads, per_story, (options & 16) != 0, options & 32 ? 0.5 : 0.0, gate_of(options),
                  candidate.data(), gate.data(), w.data(), key_input.data(), has_U ? U.data() : nullptr,
                  prelu ? slope.data() : nullptr, biased ? bias.data() : nullptr, offsets.data(),
                  read_at.data(), options & 64 ? closed.data() : nullptr, states.data()};
  require_none(entnet_scan_forward(&scan));
  require_finite(states, "states");

  const Floats weights = normal(Q * m * d);
  Floats dcandidate(candidate), dgate(gate), dw(w), dkey_input(key_input), dU(U), dslope(slope), dbias(bias);
  EntnetScanGradients gradients{weights.data(),    dcandidate.data(),
                                dgate.data(),      dw.data(),
                                dkey_input.data(), has_U ? dU.data() : nullptr,
                                prelu ? dslope.data() : nullptr, biased ? dbias.data() : nullptr};
  require_none(entnet_scan_backward(&scan, &gradients));
  for (const Floats* g : {&dcandidate, &dgate, &dw, &dkey_input, &dU, &dslope, &dbias})
    require_finite(*g, "gradients");

  // Tiny memories are too uneven for differences. What a shut gate learns, as if it were open, no difference shows.
  if (d < 7) return;
  scan.gate.learns = scan.gate.threshold;
  require_none(entnet_scan_backward(&scan, &gradients));
  const auto total = [&] {
    require_none(entnet_scan_forward(&scan));
    return weighted(states, weights);
  };
  compare_gradient(total, candidate, dcandidate, "gradient of the candidates' input");
  compare_gradient(total, gate, dgate, "gradient of the gates' input");
  compare_gradient(total, w, dw, "gradient of the keys");
  compare_gradient(total, key_input, dkey_input, "gradient of the keys' share of the candidates");
  if (has_U) compare_gradient(total, U, dU, "gradient of U");
  if (prelu) compare_gradient(total, slope, dslope, "gradient of the slopes");
  if (biased) compare_gradient(total, bias, dbias, "gradient of the gates' bias");
}

struct Network {
  EntnetModel model{};
  Floats parameters, mask;
  Integers key_words;
  std::vector<unsigned char> allowed, entity;

  int64_t part(int64_t size) {
    const int64_t at = (int64_t)parameters.size();
    const Floats values = normal(size, 0.2f);
    parameters.insert(parameters.end(), values.begin(), values.end());
    return at;
  }

  Network(int64_t m, int64_t d, int64_t V, int64_t L, unsigned options, bool named) {
    model.slots = m, model.width = d, model.vocabulary = V, model.sentence_length = L;
    model.over_slots = (options & 1) != 0, model.hops = 1 + options % 3, model.normalise = (options & 2) != 0, model.close_on_empty = 1;
    model.slope_units = options & 4 ? d : 1;
    model.gate = gate_of(options);
    model.matrix_U = options % 3, model.matrix_V = (options / 3) % 3, model.matrix_W = (options / 9) % 3;
    const int64_t keys = named ? 2 : (options >> 3) % 3;  // free, tied or with the stories, if not named by them
    const int64_t encoder = (options >> 2) % 3;
    model.embedding = part(V * d);
    for (int64_t i = 0; i < d; ++i) parameters[(size_t)i] = 0.0f;
    model.keys = keys == 0 ? part(m * d) : -1;
    model.U = model.matrix_U == ENTNET_TRAINED ? part(d * d) : -1;
    model.V = model.matrix_V == ENTNET_TRAINED ? part(d * d) : -1;
    model.W = model.matrix_W == ENTNET_TRAINED ? part(d * d) : -1;
    model.H = model.over_slots ? -1 : part(d * d);
    model.R = model.over_slots ? -1 : part(V * d);
    model.slope = options & 8 ? part(model.slope_units) : -1;
    model.read_slope = (options & 8) && (options & 16) ? part(model.slope_units) : -1;
    model.gate_bias = options & 32 ? part(m) : -1;
    model.candidate_bias = options & 64 ? part(d) : -1;
    model.story_mask = encoder == 0 ? part(L * d) : -1;
    model.question_mask = encoder == 0 && (options & 32) ? part(L * d) : -1;
    model.gate_mask = encoder == 0 && (options & 64) ? part(L * d) : -1;
    if (encoder == 1) mask = normal(L * d), model.fixed_mask = mask.data();
    if (keys == 1) {
      for (int64_t j = 0; j < m; ++j) key_words.push_back(1 + draw(V - 1));
      model.key_words = key_words.data();
    }
    model.ordinals = -1;
    if (named) {  // some words get several slots, others none
      model.gate = {};
      for (int64_t a = 0; a < V; ++a) entity.push_back((unsigned char)(a % 4));
      model.entity = entity.data();
      model.ordinal_count = 2;
      model.ordinals = part(model.ordinal_count * d);
    }
    if (options & 16) {
      for (int64_t a = 0; a < V; ++a) allowed.push_back(a % 3 != 1);
      model.allowed = allowed.data();
    }
    model.parameters = parameters.data();
    model.parameter_count = (int64_t)parameters.size();
  }

  bool takes_story_keys() const { return model.keys < 0 && !model.key_words && !model.entity; }
};

struct Batch {
  Integers offsets, words, question_words, steps, answers, keys;
  Floats keep, noise, ends;
  std::vector<unsigned char> quiet;
  EntnetBatch view{};

  Batch(const Network& net, int64_t threads, bool dropout) {
    const EntnetModel& model = net.model;
    const int64_t L = model.sentence_length, V = model.vocabulary, S = 5, Q = 7;
    offsets = offsets_of(S, 9);
    const int64_t N = offsets.back();
    for (int64_t i = 0; i < N * L; ++i) words.push_back(i / L % 4 == 0 ? 0 : draw(V));
    for (int64_t t = 0; t < N; ++t) quiet.push_back((unsigned char)draw(2));
    for (int64_t i = 0; i < Q * L; ++i) question_words.push_back(draw(V));
    for (int64_t q = 0; q < Q; ++q) {
      steps.push_back(draw(N));
      answers.push_back(model.over_slots ? draw(model.slots) : draw(V) / 3 * 3);
    }
    if (net.takes_story_keys())
      for (int64_t i = 0; i < S * model.slots; ++i) keys.push_back(draw(V));
    if (dropout)
      for (int64_t i = 0; i < S * model.width; ++i) keep.push_back(draw(2) ? 2.0f : 0.0f);
    if (dropout && !model.entity) noise = normal(N * model.slots * model.width);
    if (dropout && !model.entity) ends = normal(S * model.slots * model.width);
    view = {N, S, Q, threads, L, L, words.data(), offsets.data(), question_words.data(), steps.data(),
            answers.data(), keys.empty() ? nullptr : keys.data(), keep.empty() ? nullptr : keep.data(),
            dropout ? quiet.data() : nullptr, noise.empty() ? nullptr : noise.data(),
            ends.empty() ? nullptr : ends.data()};
  }
};

void test_engine(int64_t m, int64_t d, unsigned options, int64_t threads, bool named = false) {
  Network net(m, d, 11, 4, options, named);
  Engine* engine = entnet_engine_new(&net.model);
  Floats gradients(net.parameters.size()), first(gradients), second(gradients);
  const bool adam = options & 128;
  for (int64_t step = 1; step <= 3; ++step) {
    const Batch batch(net, threads, step == 2);
    EntnetUpdate update{gradients.data(), adam ? first.data() : nullptr, adam ? second.data() : nullptr,
                        0.01, 0.9, 0.999, 1e-8, 1.0, (int64_t)(options & 1), 1, step, 0.1, 0.1};
    EntnetResult result;
    require_none(entnet_train(engine, &batch.view, &update, &result));
    require(std::isfinite(result.loss) && std::isfinite(result.gradient_norm), "loss");
    require_finite(net.parameters, "parameters");
    Integers predictions((size_t)batch.view.questions);
    require_none(entnet_evaluate(engine, &batch.view, predictions.data(), &result));
  }
  Floats memory = normal(m * d), keys = normal(m * d), after(memory.size()), gates((size_t)m), moved((size_t)m);
  Floats scores((size_t)(net.model.over_slots ? m : net.model.vocabulary)), attention((size_t)m);
  const Integers words{1, 2, 0, 0};
  entnet_stream_pack(engine);
  require_none(entnet_stream_step(engine, words.data(), 4, net.model.slots, keys.data(), memory.data(), after.data(), gates.data(), moved.data()));
  require_none(entnet_stream_read(engine, words.data(), 4, net.model.slots, after.data(), scores.data(), attention.data()));
  require_finite(attention, "attention");
  require_finite(moved, "movement");
  Batch wrong(net, threads, false);
  wrong.words[0] = net.model.vocabulary;
  EntnetResult result;
  Integers predictions((size_t)wrong.view.questions);
  require(entnet_evaluate(engine, &wrong.view, predictions.data(), &result) != nullptr, "a bad word is refused");
  entnet_engine_free(engine);
}

// An array that starts at a multiple of 64 bytes, as PyTorch's do, and ends where it ends.
struct Aligned {
  float* data;
  size_t size;
  explicit Aligned(int64_t count) : size((size_t)count) {
    data = static_cast<float*>(std::aligned_alloc(64, (size_t)count * sizeof(float)));
    for (size_t i = 0; i < size; ++i) data[i] = NAN;
  }
  Aligned(const Aligned&) = delete;
  ~Aligned() { std::free(data); }
  Floats values() const { return Floats(data, data + size); }
};

void test_lstm(int64_t H) {
  const int64_t V = 5, S = 4, P = (H + 15) / 16 * 16;
  const Integers active{3, 3, 2, 1};  // one of the sequences is empty
  const int64_t N = 9;
  Integers words;
  for (int64_t i = 0; i < N; ++i) words.push_back(draw(V));
  Floats table = normal(V * 4 * H), U = normal(4 * H * H, 0.2f), hidden = normal(S * H), cell = normal(S * H);
  const Aligned gates(N * 4 * P), hiddens(N * P), cells(N * P), dhiddens(N * P), dcells(N * P);
  EntnetLstm lstm{H,        V,           N,           S,          4,          active.data(), words.data(), table.data(),
                  U.data(), hidden.data(), cell.data(), gates.data, hiddens.data, cells.data};
  for (int64_t i = 0; i < N * P; ++i) dhiddens.data[i] = dcells.data[i] = i % P < H ? 1.0f : 0.0f;
  // The sum of all states, in double precision.
  const auto total = [&] {
    require_none(entnet_lstm_forward(&lstm));
    double sum = 0.0;
    for (int64_t i = 0; i < N * P; ++i) sum += (double)hiddens.data[i] + (double)cells.data[i];
    return sum;
  };
  total();
  Floats dtable(table.size()), dU(U.size()), dhidden(hidden.size()), dcell(cell.size());
  const EntnetLstmGradients out{dhiddens.data, dcells.data, dtable.data(), dU.data(), dhidden.data(), dcell.data()};
  require_none(entnet_lstm_backward(&lstm, &out));
  require_finite(hiddens.values(), "hidden states");
  compare_gradient(total, table, dtable, "gradient of the table");
  compare_gradient(total, U, dU, "gradient of U");
  compare_gradient(total, hidden, dhidden, "gradient of the first hidden states");
  compare_gradient(total, cell, dcell, "gradient of the first cells");
  words[0] = V;
  require(entnet_lstm_forward(&lstm) != nullptr, "a bad word is refused");
}

void test_gru(int64_t H, bool with_attention) {
  const int64_t S = 4, P = (H + 15) / 16 * 16, B = with_attention ? 2 : 3, N = 9;
  const Integers active{3, 3, 2, 1};  // one of the sequences is empty
  Floats inputs = normal(N * B * H), attention, U = normal(B * H * H, 0.2f), hidden = normal(S * H);
  for (int64_t i = 0; i < N; ++i) attention.push_back(0.1f * (float)(1 + draw(8)));
  const Aligned gates(N * 4 * P), hiddens(N * P), dhiddens(N * P);
  const EntnetGru gru{H,        N,        S,             4,          active.data(), inputs.data(), with_attention ? attention.data() : nullptr,
                      U.data(), hidden.data(), gates.data, hiddens.data};
  for (int64_t i = 0; i < N * P; ++i) dhiddens.data[i] = i % P < H ? 1.0f : 0.0f;
  // The sum of all states, in double precision.
  const auto total = [&] {
    require_none(entnet_gru_forward(&gru));
    double sum = 0.0;
    for (int64_t i = 0; i < N * P; ++i) sum += (double)hiddens.data[i];
    return sum;
  };
  total();
  Floats dinputs(inputs.size()), dattention(attention.size()), dU(U.size()), dhidden(hidden.size());
  const EntnetGruGradients out{dhiddens.data, dinputs.data(), with_attention ? dattention.data() : nullptr, dU.data(),
                               dhidden.data()};
  require_none(entnet_gru_backward(&gru, &out));
  require_finite(hiddens.values(), "hidden states");
  compare_gradient(total, inputs, dinputs, "gradient of the inputs");
  if (with_attention) compare_gradient(total, attention, dattention, "gradient of the attention");
  compare_gradient(total, U, dU, "gradient of U");
  compare_gradient(total, hidden, dhidden, "gradient of the first hidden states");
  EntnetGru wrong = gru;
  wrong.rows = N + 1;
  require(entnet_gru_forward(&wrong) != nullptr, "a wrong layout is refused");
}

// One kind of memory machine, over sequences that are longer than a segment.
void test_machine(int64_t H, bool ntm, int option) {
  const bool links = !ntm && option != 2, rich = !ntm && option == 1, normalise = option == 2;
  const int64_t N = 5, W = 3, R = 2, S = 3, T = 18, PN = 16, P = (H + 15) / 16 * 16, RW = R * W, RP = 16;
  const int64_t heads = R + 1, rows = T + T + 2;
  int64_t I = heads * W + 2 * W, traces = 2 + R;
  if (ntm) I += 6 * heads, traces += R;
  else I += (rich ? heads * W : 0) + heads + R + 2 + (links ? 3 * R : 0) + (rich ? 2 * R : 0), traces += 3 + (links ? 1 + 3 * R : 0);
  const int64_t IP = (I + 15) / 16 * 16, checkpoints = 3 + 2;
  Integers active((size_t)T, 2);
  active[0] = active[1] = 3;
  Floats inputs = normal(rows * 4 * H), U = normal(4 * H * (H + RW), 0.2f), B = normal(I * H, 0.2f);
  Floats asked = normal(rows * I), hidden = normal(S * H), cell = normal(S * H), reads = normal(S * RW);
  Floats weights, gain4 = normal(4 * H), shift4 = normal(4 * H), gain = normal(H);
  Floats shift = normal(H), gain_asked = normal(I), shift_asked = normal(I), keep((size_t)(rows * H), 1.0f);
  for (int64_t i = 0; i < S * heads * N; ++i) weights.push_back(2e-4f * (float)draw(1001));  // no two of one size
  const Aligned gates(rows * 4 * P), cells(rows * P), raw(rows * P), recurrent(rows * (P + RP)), interface(rows * IP);
  const Aligned norm_gates(rows * 4 * P), norm_cells(rows * P), scales(rows * 16), trace(rows * traces * PN);
  const Aligned memories(checkpoints * W * PN), link_states(checkpoints * N * PN), hiddens(rows * P), found(rows * RP);
  EntnetMachine a{};
  a.ntm = ntm, a.slots = N, a.width = W, a.heads = R, a.units = H, a.interface = I, a.trace_width = traces * PN;
  a.links = links, a.masking = rich, a.deallocation = rich, a.sharpness = rich, a.usage_gradient = option != 3;
  a.read_first = option % 2, a.normalise = normalise, a.memory_start = 1e-6, a.norm_epsilon = 1e-6;
  a.rows = rows, a.sequences = S, a.steps = T, a.active = active.data();
  a.inputs = inputs.data(), a.U = U.data(), a.B = B.data(), a.asked = asked.data(), a.keep = option ? keep.data() : nullptr;
  if (normalise) {
    a.gate_gain = gain4.data(), a.gate_shift = shift4.data(), a.cell_gain = gain.data(), a.cell_shift = shift.data();
    a.interface_gain = gain_asked.data(), a.interface_shift = shift_asked.data();
    a.norm_gates = norm_gates.data, a.norm_cells = norm_cells.data, a.scales = scales.data;
  }
  a.hidden = hidden.data(), a.cell = cell.data(), a.reads = reads.data(), a.weights = weights.data();
  a.gates = gates.data, a.cells = cells.data, a.raw = raw.data, a.recurrent = recurrent.data;
  a.interface_rows = interface.data, a.trace = trace.data, a.memories = memories.data;
  a.link_states = links ? link_states.data : nullptr, a.hiddens = hiddens.data, a.found = found.data;
  // The sum of all outputs and reads, in double precision.
  const auto total = [&] {
    require_none(entnet_machine_forward(&a));
    double sum = 0.0;
    for (int64_t i = 0; i < rows * P; ++i) sum += (double)hiddens.data[i];
    for (int64_t i = 0; i < rows * RP; ++i) sum += (double)found.data[i];
    return sum;
  };
  total();
  const Aligned dhiddens(rows * P), dfound(rows * RP), dgates(rows * 4 * P), dinterface(rows * IP);
  for (int64_t i = 0; i < rows * P; ++i) dhiddens.data[i] = i % P < H ? 1.0f : 0.0f;
  for (int64_t i = 0; i < rows * RP; ++i) dfound.data[i] = i % RP < RW ? 1.0f : 0.0f;
  Floats d1(gain4), d2(gain4), d3(gain), d4(gain), d5(gain_asked), d6(gain_asked);
  Floats dhidden(hidden), dcell(cell), dreads(reads), dweights(weights);
  EntnetMachineGradients out{};
  out.hiddens = dhiddens.data, out.found = dfound.data, out.gates = dgates.data, out.interface_rows = dinterface.data;
  if (normalise)
    out.gate_gain = d1.data(), out.gate_shift = d2.data(), out.cell_gain = d3.data(), out.cell_shift = d4.data(),
    out.interface_gain = d5.data(), out.interface_shift = d6.data();
  out.hidden = dhidden.data(), out.cell = dcell.data(), out.reads = dreads.data(), out.weights = dweights.data();
  require_none(entnet_machine_backward(&a, &out));
  require_finite(dgates.values(), "gradients of the gates");
  compare_gradient(total, hidden, dhidden, "gradient of the first outputs");
  compare_gradient(total, cell, dcell, "gradient of the first cells");
  compare_gradient(total, reads, dreads, "gradient of the first reads");
  if (a.usage_gradient) compare_gradient(total, weights, dweights, "gradient of the first weightings");
  else require_finite(dweights, "gradient of the first weightings");  // some of it is left out on purpose
  a.trace = a.memories = a.link_states = nullptr;  // without a way back
  total();
  a.interface = I + 1;
  require(entnet_machine_forward(&a) != nullptr, "another interface is refused");
}

void test_hops(int64_t d, bool shared, bool linear, bool relu) {
  const int64_t Q = 3, M = 5, K = 3, layers = shared ? 2 : K + 1;
  Integers heard{5, 1, 3};
  Floats memories = normal(Q * M * layers * d, 0.2f), state = normal(Q * d), H = normal(d * d, 0.1f);
  Floats states((size_t)(Q * (K + 1) * d)), attention((size_t)(Q * K * M));
  const EntnetHops hops{Q, M, layers, d, K, linear, relu, heard.data(), memories.data(), state.data(),
                        shared ? H.data() : nullptr, states.data(), attention.data()};
  // The sum of all last states, in double precision.
  const auto total = [&] {
    require_none(entnet_hops_forward(&hops));
    double sum = 0.0;
    for (int64_t q = 0; q < Q; ++q)
      for (int64_t j = 0; j < d; ++j) sum += (double)states[(size_t)((q * (K + 1) + K) * d + j)];
    return sum;
  };
  total();
  const Floats ones((size_t)(Q * d), 1.0f);
  Floats dmemories(memories.size()), dstate(state.size()), dH(H.size());
  const EntnetHopsGradients out{ones.data(), dmemories.data(), dstate.data(), shared ? dH.data() : nullptr};
  require_none(entnet_hops_backward(&hops, &out));
  compare_gradient(total, memories, dmemories, "gradient of the memories");
  compare_gradient(total, state, dstate, "gradient of the first states");
  if (shared) compare_gradient(total, H, dH, "gradient of H");
  heard[0] = M + 1;
  require(entnet_hops_forward(&hops) != nullptr, "a question that looks back too far is refused");
}

void test_reduce(int64_t d, int64_t ways) {
  const int64_t Q = 4, M = 9;
  Integers lengths{3, 0, 1, 5};
  Floats inputs = normal(M * d), weights = normal(ways * M), passed = normal(M);
  Floats reduced((size_t)(M * d)), states((size_t)(ways * M * d));
  const EntnetReduce reduce{Q, M, d, ways, lengths.data(), inputs.data(), weights.data(), passed.data(), reduced.data(),
                            states.data()};
  // The sum of all states, in double precision.
  const auto total = [&] {
    require_none(entnet_reduce_forward(&reduce));
    double sum = 0.0;
    for (float state : states) sum += (double)state;
    return sum;
  };
  total();
  const Floats ones((size_t)(M * d), 1.0f);
  Floats dinputs(inputs.size()), dweights(weights.size()), dpassed(passed.size());
  const EntnetReduceGradients out{ones.data(), dinputs.data(), dweights.data(), dpassed.data()};
  require_none(entnet_reduce_backward(&reduce, &out));
  require_finite(states, "states");
  compare_gradient(total, inputs, dinputs, "gradient of the inputs");
  compare_gradient(total, weights, dweights, "gradient of the weights");
  compare_gradient(total, passed, dpassed, "gradient of what is passed on");
  lengths[0] = 4;
  require(entnet_reduce_forward(&reduce) != nullptr, "lengths that are not those of the rows are refused");
}

}  // namespace

int main() {
  entnet_poison(1);
  const int64_t sizes[][2] = {{1, 1}, {3, 7}, {5, 20}, {20, 100}, {4, 129}};
  for (const std::string kernel : {"baseline", "avx2", "avx512"}) {
    if (entnet_choose_kernel(kernel.c_str())) continue;
    for (const auto& size : sizes)
      for (unsigned options = 0; options < 256; options += size[1] < 50 ? 3 : 23) {
        test_scan(size[0], size[1], options, 1 + options % 3);
        test_engine(size[0], size[1], options, 1 + options % 3);
      }
    const uint64_t kept = dice;  // the next kernel gets the problems that it would get without this
    for (int64_t units : {1, 7, 16, 50}) {
      test_lstm(units);
      for (int option = 0; option < 2; ++option) test_gru(units, option);
      for (int option = 0; option < 8; ++option) test_machine(units, option / 4, option % 4);
      for (int64_t ways : {1, 2}) test_reduce(units, ways);
      for (int option = 0; option < 8; ++option) test_hops(units, option % 2, option / 2 % 2, option / 4);
    }
    // Words and no slots answer, and no gate has a bias of its own.
    for (const auto& size : sizes)
      for (unsigned options = 0; options < 256; options += 22)
        if (!(options & 33)) test_engine(size[0], size[1], options, 1 + options % 3, true);
    dice = kept;
    test_windows();
    test_running();
    std::printf("%s: clean\n", kernel.c_str());
  }
}
