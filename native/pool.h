// Threads that wait for work. One pool serves the process; calls from two Python threads take turns.
#pragma once

#include <cstdint>

using Task = void (*)(void* context, int64_t index);

// Runs task(context, 0 … count - 1), each on a thread of its own, the first on the caller's.
void run_parallel(int64_t count, Task task, void* context);
