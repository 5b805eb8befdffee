// Compiled once for every instruction set, with ENTNET_ISA set to its name.
#include "engine.h"
#include "gru.h"
#include "hops.h"
#include "lstm.h"
#include "machine.h"
#include "reduce.h"
#include "scan_op.h"
#include "stream.h"
#include "windows.h"

#define ENTNET_TEXT_OF(name) #name
#define ENTNET_TEXT(name) ENTNET_TEXT_OF(name)
#define ENTNET_JOIN_OF(a, b) a##b
#define ENTNET_JOIN(a, b) ENTNET_JOIN_OF(a, b)

extern "C" const Kernel* ENTNET_JOIN(entnet_kernel_, ENTNET_ISA)() {
  static const Kernel kernel = {
      ENTNET_TEXT(ENTNET_ISA), ENTNET_ISA::scan_forward, ENTNET_ISA::scan_backward,
      ENTNET_ISA::train,       ENTNET_ISA::evaluate,     ENTNET_ISA::stream_pack,
      ENTNET_ISA::stream_step, ENTNET_ISA::stream_scan,  ENTNET_ISA::stream_read,
      ENTNET_ISA::lstm_forward, ENTNET_ISA::lstm_backward, ENTNET_ISA::gru_forward,
      ENTNET_ISA::gru_backward, ENTNET_ISA::machine_forward, ENTNET_ISA::machine_backward,
      ENTNET_ISA::hops_forward, ENTNET_ISA::hops_backward, ENTNET_ISA::reduce_forward,
      ENTNET_ISA::reduce_backward,
      ENTNET_ISA::windows_train, ENTNET_ISA::windows_score,
  };
  return &kernel;
}
