// What each instruction set's build of kernel.cpp offers.
#pragma once

#include "api.h"
#include "plan.h"
#include "space.h"

constexpr int64_t MOST_THREADS = 64;

// Everything that a call may leave behind for the next one.
struct Workspace {
  Buffer shared;                    // weights, padded and transposed
  Buffer scratch[MOST_THREADS];     // one story's numbers, and gradients of one call
  Buffer embeddings[MOST_THREADS];  // gradients of embeddings, whose rows are cleared one by one
  Buffer touched;                   // rows of the embedding that the last update wrote gradients of
  int64_t touched_count = 0;
  int32_t now = 0;
};

double seconds_now();

struct Kernel {
  const char* name;
  void (*scan_forward)(const EntnetScan*, const PlanView*, Workspace*);
  void (*scan_backward)(const EntnetScan*, const EntnetScanGradients*, const PlanView*, Workspace*);
  void (*train)(const EntnetModel*, const EntnetBatch*, const EntnetUpdate*, const PlanView*, Workspace*,
                EntnetResult*);
  void (*evaluate)(const EntnetModel*, const EntnetBatch*, const PlanView*, Workspace*, int64_t* predictions,
                   EntnetResult*);
  void (*pack)(const EntnetModel*, Workspace*);
  void (*stream_step)(const EntnetModel*, Workspace*, const int64_t* words, int64_t length, int64_t slots,
                      const float* keys, const float* memory, float* after, float* gates, float* moved);
  void (*stream_scan)(const EntnetModel*, Workspace*, const int32_t* words, int64_t count, int64_t length,
                      const float* keys, float* memory, float* widest, int32_t* slots);
  void (*stream_read)(const EntnetModel*, Workspace*, const int64_t* words, int64_t length, int64_t slots,
                      const float* memory, float* scores, float* attention);
  void (*lstm_forward)(const EntnetLstm*, Workspace*);
  void (*lstm_backward)(const EntnetLstm*, const EntnetLstmGradients*, Workspace*);
  void (*gru_forward)(const EntnetGru*, Workspace*);
  void (*gru_backward)(const EntnetGru*, const EntnetGruGradients*, Workspace*);
  void (*machine_forward)(const EntnetMachine*, Workspace*);
  void (*machine_backward)(const EntnetMachine*, const EntnetMachineGradients*, Workspace*);
  void (*hops_forward)(const EntnetHops*, Workspace*);
  void (*hops_backward)(const EntnetHops*, const EntnetHopsGradients*, Workspace*);
  void (*reduce_forward)(const EntnetReduce*);
  void (*reduce_backward)(const EntnetReduce*, const EntnetReduceGradients*, Workspace*);
  void (*windows_train)(const EntnetWindowsNetwork*, const EntnetWindows*, EntnetWindowsTraining*, Workspace*);
  void (*windows_score)(const EntnetWindowsNetwork*, const EntnetWindows*, float* scores, Workspace*);
};

extern "C" const Kernel* entnet_kernel_baseline();
extern "C" const Kernel* entnet_kernel_avx2();
extern "C" const Kernel* entnet_kernel_avx512();
