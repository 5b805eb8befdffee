#include "pool.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {

// Steps follow each other within a fraction of a millisecond: look out so long before going to sleep.
constexpr int LOOKS = 4000;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Pool {
 public:
  void run(int64_t count, Task task, void* context) {
    std::lock_guard<std::mutex> turn(turn_);
    while ((int64_t)workers_ < count - 1) {
      const int64_t index = (int64_t)++workers_;
      // Detached: the process may end while they wait.
      std::thread([this, index, seen = round_.load()] { serve(index, seen); }).detach();
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      task_ = task;
      context_ = context;
      count_ = count;
      pending_.store(count - 1);
      round_.fetch_add(1);
    }
    wake_.notify_all();
    task(context, 0);
    for (int look = 0; look < LOOKS && pending_.load() != 0; ++look) pause();
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return pending_.load() == 0; });
  }

 private:
  void serve(int64_t index, uint64_t seen) {
    for (;;) {
      for (int look = 0; look < LOOKS && round_.load() == seen; ++look) pause();
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return round_.load() != seen; });
      seen = round_.load();
      if (index >= count_) continue;
      const Task task = task_;
      void* const context = context_;
      lock.unlock();
      task(context, index);
      lock.lock();
      if (pending_.fetch_sub(1) == 1) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  std::atomic<uint64_t> round_{0};
  uint64_t workers_ = 0;
  std::atomic<int64_t> pending_{0};
  int64_t count_ = 0;
  Task task_ = nullptr;
  void* context_ = nullptr;
};

// A forked child has none of its parent's threads: it gets a pool of its own. Pools are never freed,
// because waiting threads hold on to them until the process ends.
Pool& pool() {
  static std::mutex guard;
  static Pool* current = nullptr;
  static pid_t owner = 0;
  std::lock_guard<std::mutex> lock(guard);
  if (!current || owner != getpid()) {
    current = new Pool;
    owner = getpid();
  }
  return *current;
}

}  // namespace

void run_parallel(int64_t count, Task task, void* context) {
  if (count <= 1)
    task(context, 0);
  else
    pool().run(count, task, context);
}
