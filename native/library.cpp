// The functions that Python calls: choosing an instruction set, checking, and the objects kept between calls.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "kernel.h"
#include "pool.h"
#include "running.h"

#define ENTNET_EXPORT extern "C" __attribute__((visibility("default")))

static bool poisoned = false;

char* reserve(Buffer* buffer, size_t size) {
  if (buffer->size < size) {
    release(buffer);
    const size_t rounded = (size + size / 2 + 4095) / 4096 * 4096;
    buffer->data = static_cast<char*>(std::aligned_alloc(4096, rounded));
    if (!buffer->data) std::abort();
    buffer->size = rounded;
  }
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(buffer->data, buffer->size);
#endif
  if (poisoned) std::memset(buffer->data, 0xff, buffer->size);
  return buffer->data;
}

void release(Buffer* buffer) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(buffer->data, buffer->size);
#endif
  std::free(buffer->data);
  *buffer = Buffer{};
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

const Kernel* best_kernel() {
#if defined(ENTNET_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return entnet_kernel_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return entnet_kernel_avx2();
#endif
  return entnet_kernel_baseline();
}

// Null where this machine cannot run it.
const Kernel* kernel_by_name(const char* name) {
  if (!std::strcmp(name, "baseline")) return entnet_kernel_baseline();
#if defined(ENTNET_X86)
  const bool has_avx512 = best_kernel() == entnet_kernel_avx512();
  if (!std::strcmp(name, "avx512") && has_avx512) return entnet_kernel_avx512();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!std::strcmp(name, "avx2") && has_avx2) return entnet_kernel_avx2();
#endif
  return nullptr;
}

const Kernel* chosen = nullptr;

const Kernel* kernel() {
  if (!chosen) chosen = best_kernel();
  return chosen;
}

void release_all(Workspace* space) {
  release(&space->shared);
  release(&space->touched);
  for (Buffer& buffer : space->scratch) release(&buffer);
  for (Buffer& buffer : space->embeddings) release(&buffer);
}

struct Engine {
  EntnetModel model;
  Workspace space;
  Plan plan;
  std::mutex busy;
  ~Engine() { release_all(&space); }
};

int64_t usable_threads(int64_t wanted) {
  return wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : wanted;
}

const char* check_numbers(const int64_t* numbers, int64_t count, int64_t limit, const char* message) {
  if (!numbers) return nullptr;
  for (int64_t i = 0; i < count; ++i)
    if (numbers[i] < 0 || numbers[i] >= limit) return message;
  return nullptr;
}

constexpr const char* UNKNOWN_WORD = "a sentence or question has a word outside the vocabulary";

const char* check_length(const EntnetModel& model, int64_t length) {
  const bool masked = model.story_mask >= 0 || model.fixed_mask;
  return masked && length != model.sentence_length ? "sentences or questions of another length than the mask's"
                                                   : nullptr;
}

const char* check_slots(const EntnetModel& model, int64_t slots) {
  const bool right = model.entity ? slots >= 0 && slots <= model.slots : slots == model.slots;
  return right ? nullptr : "a memory of another number of slots than the network's";
}

const char* check_batch(const EntnetModel& model, const EntnetBatch& batch) {
  const int64_t V = model.vocabulary, m = model.slots;
  const char* problem = check_length(model, batch.sentence_length);
  if (!problem) problem = check_length(model, batch.question_length);
  if (!problem) problem = check_numbers(batch.words, batch.sentences * batch.sentence_length, V, UNKNOWN_WORD);
  if (!problem)
    problem = check_numbers(batch.question_words, batch.questions * batch.question_length, V, UNKNOWN_WORD);
  if (!problem)
    problem = check_numbers(batch.answers, batch.questions, model.over_slots ? m : V, "an answer is out of range");
  if (!problem)
    problem = check_numbers(batch.story_keys, batch.stories * m, V, "a key is a word outside the vocabulary");
  if (!problem && model.keys < 0 && !model.key_words && !model.entity && !batch.story_keys)
    problem = "this network takes its keys from the stories, and none were given";
  return problem;
}

const char* prepare(Engine* engine, const EntnetBatch& batch) {
  if (const char* problem = check_batch(engine->model, batch)) return problem;
  return engine->plan.make(batch.sentences, batch.stories, batch.story_offsets, batch.questions,
                           batch.question_step, usable_threads(batch.threads));
}

// Work space of memory_scan: one a thread of the caller, so that calls do not wait for each other.
struct ScanSpace {
  Workspace space;
  Plan plan;
  ~ScanSpace() { release_all(&space); }
};

const char* run_scan(const EntnetScan* scan, const EntnetScanGradients* gradients) {
  static thread_local ScanSpace own;
  if (const char* problem = own.plan.make(scan->sentences, scan->stories, scan->offsets, scan->reads,
                                          scan->read_at, usable_threads(scan->threads)))
    return problem;
  const PlanView view = own.plan.view();
  if (gradients)
    kernel()->scan_backward(scan, gradients, &view, &own.space);
  else
    kernel()->scan_forward(scan, &view, &own.space);
  return nullptr;
}

// Sequences laid out by time, the longest first.
const char* check_layout(const int64_t* active, int64_t steps, int64_t sequences, int64_t expected) {
  int64_t rows = 0, before = sequences;
  for (int64_t t = 0; t < steps; ++t) {
    if (active[t] < 1 || active[t] > before) return "sequences must be laid out longest first";
    rows += before = active[t];
  }
  return rows == expected ? nullptr : "the sequences' words are not as many as the rows";
}

const char* check_lstm(const EntnetLstm& a) {
  if (const char* problem = check_layout(a.active, a.steps, a.sequences, a.rows)) return problem;
  return check_numbers(a.words, a.rows, a.vocabulary, UNKNOWN_WORD);
}

const char* run_lstm(const EntnetLstm* lstm, const EntnetLstmGradients* gradients) {
  static thread_local ScanSpace own;
  if (const char* problem = check_lstm(*lstm)) return problem;
  if (gradients)
    kernel()->lstm_backward(lstm, gradients, &own.space);
  else
    kernel()->lstm_forward(lstm, &own.space);
  return nullptr;
}

const char* run_gru(const EntnetGru* gru, const EntnetGruGradients* gradients) {
  static thread_local ScanSpace own;
  if (const char* problem = check_layout(gru->active, gru->steps, gru->sequences, gru->rows)) return problem;
  if (gradients)
    kernel()->gru_backward(gru, gradients, &own.space);
  else
    kernel()->gru_forward(gru, &own.space);
  return nullptr;
}

// That Python and the kernel mean the same interface and the same trace.
const char* check_machine(const EntnetMachine& a) {
  const int64_t R = a.heads, W = a.width, heads = R + 1;
  int64_t parts = heads * W + 2 * W, rows = 2 + R;
  if (a.ntm)
    parts += 6 * heads, rows += R;
  else
    parts += (a.masking ? heads * W : 0) + heads + R + 2 + (a.links ? 3 * R : 0) + (a.sharpness ? 2 * R : 0),
        rows += 3 + (a.links ? 1 + 3 * R : 0);
  if (a.interface != parts) return "the interface has not the parts that this machine needs";
  if (a.trace_width != rows * ((a.slots + 15) / 16 * 16)) return "the trace has another width than this machine's";
  if (a.sharpness && !a.links) return "sharpness is of the links, but there are none";
  return nullptr;
}

const char* run_machine(const EntnetMachine* machine, const EntnetMachineGradients* gradients) {
  static thread_local ScanSpace own;
  const EntnetMachine& a = *machine;
  if (const char* problem = check_layout(a.active, a.steps, a.sequences, a.rows)) return problem;
  if (const char* problem = check_machine(a)) return problem;
  if (gradients)
    kernel()->machine_backward(machine, gradients, &own.space);
  else
    kernel()->machine_forward(machine, &own.space);
  return nullptr;
}

const char* check_hops(const EntnetHops& a) {
  if (a.layers < (a.H ? 2 : a.hops + 1)) return "there are fewer layers of memories than the hops need";
  for (int64_t q = 0; q < a.questions; ++q)
    if (a.heard[q] < 1 || a.heard[q] > a.ages) return "a question looks back on no sentence, or on too many";
  return nullptr;
}

const char* run_hops(const EntnetHops* hops, const EntnetHopsGradients* gradients) {
  static thread_local ScanSpace own;
  if (const char* problem = check_hops(*hops)) return problem;
  if (gradients)
    kernel()->hops_backward(hops, gradients, &own.space);
  else
    kernel()->hops_forward(hops, &own.space);
  return nullptr;
}

const char* run_reduce(const EntnetReduce* reduce, const EntnetReduceGradients* gradients) {
  static thread_local ScanSpace own;
  int64_t rows = 0;
  for (int64_t q = 0; q < reduce->questions; ++q) {
    if (reduce->lengths[q] < 0) return "a question looks back on fewer than no sentences";
    rows += reduce->lengths[q];
  }
  if (rows != reduce->rows) return "the questions' lengths are not as many as the rows";
  if (gradients)
    kernel()->reduce_backward(reduce, gradients, &own.space);
  else
    kernel()->reduce_forward(reduce);
  return nullptr;
}

// Words are known, or, where there are rows for new ones, any at all.
const char* check_new_words(const EntnetWindowsNetwork& net, const int32_t* words, int64_t count) {
  const int64_t limit = net.oov_rows ? INT32_MAX : net.known - 1;
  int32_t lowest = 0, highest = 0;
  for (int64_t i = 0; i < count; ++i) {
    lowest = words[i] < lowest ? words[i] : lowest;
    highest = words[i] > highest ? words[i] : highest;
  }
  return lowest < 0 || highest > limit ? UNKNOWN_WORD : nullptr;
}

const char* check_windows(const EntnetWindowsNetwork& net, const EntnetWindows& data) {
  if (data.offsets[0] != 0 || data.offsets[data.count] != data.windows_count)
    return "the questions' offsets do not span the windows";
  for (int64_t q = 0; q < data.count; ++q)
    if (data.offsets[q + 1] < data.offsets[q]) return "the questions' offsets go backwards";
  for (int64_t q = 0; q < data.count; ++q)
    if (data.answers[q] < 0 || data.answers[q] >= ENTNET_CANDIDATES) return "an answer is out of range";
  const char* problem = check_new_words(net, data.windows, data.windows_count * net.window);
  if (!problem) problem = check_new_words(net, data.candidates, data.count * ENTNET_CANDIDATES);
  return problem ? problem : check_new_words(net, data.queries, data.count * net.query);
}

}  // namespace

// Functions that can fail return null, or what is wrong.

ENTNET_EXPORT const char* entnet_kernel_name() { return kernel()->name; }

// The sizes of all structures that are handed over, for callers to hold against their own; 0 ends them.
ENTNET_EXPORT const int64_t* entnet_struct_sizes() {
  static const int64_t sizes[] = {
      sizeof(EntnetModel), sizeof(EntnetBatch), sizeof(EntnetUpdate), sizeof(EntnetResult), sizeof(EntnetScan),
      sizeof(EntnetScanGradients), sizeof(EntnetSplit), sizeof(EntnetLstm), sizeof(EntnetLstmGradients),
      sizeof(EntnetGru), sizeof(EntnetGruGradients), sizeof(EntnetMachine), sizeof(EntnetMachineGradients),
      sizeof(EntnetHops), sizeof(EntnetHopsGradients), sizeof(EntnetReduce), sizeof(EntnetReduceGradients),
      sizeof(EntnetWindowsNetwork), sizeof(EntnetWindows), sizeof(EntnetWindowsTraining), 0};
  return sizes;
}

ENTNET_EXPORT const char* entnet_choose_kernel(const char* name) {
  const Kernel* found = kernel_by_name(name);
  if (!found) return "this machine cannot run that kernel";
  chosen = found;
  return nullptr;
}

// For tests: whether work space is filled with NaN before every use.
ENTNET_EXPORT void entnet_poison(int64_t on) { poisoned = on != 0; }

ENTNET_EXPORT const char* entnet_scan_forward(const EntnetScan* scan) { return run_scan(scan, nullptr); }

ENTNET_EXPORT const char* entnet_scan_backward(const EntnetScan* scan, const EntnetScanGradients* gradients) {
  return run_scan(scan, gradients);
}

ENTNET_EXPORT const char* entnet_lstm_forward(const EntnetLstm* lstm) { return run_lstm(lstm, nullptr); }

ENTNET_EXPORT const char* entnet_lstm_backward(const EntnetLstm* lstm, const EntnetLstmGradients* gradients) {
  return run_lstm(lstm, gradients);
}

ENTNET_EXPORT const char* entnet_gru_forward(const EntnetGru* gru) { return run_gru(gru, nullptr); }

ENTNET_EXPORT const char* entnet_gru_backward(const EntnetGru* gru, const EntnetGruGradients* gradients) {
  return run_gru(gru, gradients);
}

ENTNET_EXPORT const char* entnet_machine_forward(const EntnetMachine* machine) {
  return run_machine(machine, nullptr);
}

ENTNET_EXPORT const char* entnet_machine_backward(const EntnetMachine* machine,
                                                  const EntnetMachineGradients* gradients) {
  return run_machine(machine, gradients);
}

ENTNET_EXPORT const char* entnet_hops_forward(const EntnetHops* hops) { return run_hops(hops, nullptr); }

ENTNET_EXPORT const char* entnet_hops_backward(const EntnetHops* hops, const EntnetHopsGradients* gradients) {
  return run_hops(hops, gradients);
}

ENTNET_EXPORT const char* entnet_reduce_forward(const EntnetReduce* reduce) { return run_reduce(reduce, nullptr); }

ENTNET_EXPORT const char* entnet_reduce_backward(const EntnetReduce* reduce, const EntnetReduceGradients* gradients) {
  return run_reduce(reduce, gradients);
}

ENTNET_EXPORT Engine* entnet_engine_new(const EntnetModel* model) {
  Engine* engine = new (std::nothrow) Engine;
  if (engine) engine->model = *model;
  return engine;
}

ENTNET_EXPORT void entnet_engine_free(Engine* engine) { delete engine; }

ENTNET_EXPORT const char* entnet_train(Engine* engine, const EntnetBatch* batch, const EntnetUpdate* update,
                                       EntnetResult* result) {
  std::lock_guard<std::mutex> lock(engine->busy);
  if (const char* problem = prepare(engine, *batch)) return problem;
  const PlanView view = engine->plan.view();
  kernel()->train(&engine->model, batch, update, &view, &engine->space, result);
  return nullptr;
}

ENTNET_EXPORT const char* entnet_evaluate(Engine* engine, const EntnetBatch* batch, int64_t* predictions,
                                          EntnetResult* result) {
  std::lock_guard<std::mutex> lock(engine->busy);
  if (const char* problem = prepare(engine, *batch)) return problem;
  const PlanView view = engine->plan.view();
  kernel()->evaluate(&engine->model, batch, &view, &engine->space, predictions, result);
  return nullptr;
}

ENTNET_EXPORT void entnet_stream_pack(Engine* engine) {
  std::lock_guard<std::mutex> lock(engine->busy);
  kernel()->pack(&engine->model, &engine->space);
}

// After entnet_stream_pack only, and again after every change of the weights.
ENTNET_EXPORT const char* entnet_stream_step(Engine* engine, const int64_t* words, int64_t length,
                                             int64_t slots, const float* keys, const float* memory,
                                             float* after, float* gates, float* moved) {
  std::lock_guard<std::mutex> lock(engine->busy);
  if (const char* problem = check_length(engine->model, length)) return problem;
  if (const char* problem = check_numbers(words, length, engine->model.vocabulary, UNKNOWN_WORD)) return problem;
  if (const char* problem = check_slots(engine->model, slots)) return problem;
  kernel()->stream_step(&engine->model, &engine->space, words, length, slots, keys, memory, after, gates, moved);
  return nullptr;
}

ENTNET_EXPORT const char* entnet_stream_scan(Engine* engine, const int32_t* words, int64_t count, int64_t length,
                                             const float* keys, float* memory, float* widest, int32_t* slots) {
  std::lock_guard<std::mutex> lock(engine->busy);
  if (const char* problem = check_length(engine->model, length)) return problem;
  if (length > 512) return "sentences of more than 512 words";
  for (int64_t i = 0; i < count * length; ++i)
    if (words[i] < 0 || words[i] >= engine->model.vocabulary) return UNKNOWN_WORD;
  kernel()->stream_scan(&engine->model, &engine->space, words, count, length, keys, memory, widest, slots);
  return nullptr;
}

ENTNET_EXPORT const char* entnet_stream_read(Engine* engine, const int64_t* words, int64_t length,
                                             int64_t slots, const float* memory, float* scores,
                                             float* attention) {
  std::lock_guard<std::mutex> lock(engine->busy);
  if (const char* problem = check_length(engine->model, length)) return problem;
  if (const char* problem = check_numbers(words, length, engine->model.vocabulary, UNKNOWN_WORD)) return problem;
  if (const char* problem = check_slots(engine->model, slots)) return problem;
  kernel()->stream_read(&engine->model, &engine->space, words, length, slots, memory, scores, attention);
  return nullptr;
}

// A call reads many thousands of questions, and so has its work space to itself.
ENTNET_EXPORT const char* entnet_windows_train(const EntnetWindowsNetwork* net, const EntnetWindows* data,
                                               EntnetWindowsTraining* training) {
  if (const char* problem = check_windows(*net, *data)) return problem;
  if (const char* problem =
          check_numbers(training->order, training->count, data->count, "the order has a question that is not there"))
    return problem;
  ScanSpace own;
  kernel()->windows_train(net, data, training, &own.space);
  return nullptr;
}

ENTNET_EXPORT const char* entnet_windows_score(const EntnetWindowsNetwork* net, const EntnetWindows* data,
                                               float* scores) {
  if (const char* problem = check_windows(*net, *data)) return problem;
  ScanSpace own;
  kernel()->windows_score(net, data, scores, &own.space);
  return nullptr;
}
