#include "plan.h"

#include <algorithm>
#include <numeric>

const char* Plan::make(int64_t sentences, int64_t story_count, const int64_t* offsets,
                       int64_t question_count, const int64_t* steps, int64_t wanted_threads) {
  if (offsets[0] != 0 || offsets[story_count] != sentences) return "story offsets do not span the sentences";
  longest = 0;
  for (int64_t s = 0; s < story_count; ++s) {
    if (offsets[s + 1] < offsets[s]) return "story offsets go backwards";
    longest = std::max(longest, offsets[s + 1] - offsets[s]);
  }
  for (int64_t q = 0; q < question_count; ++q)
    if (steps[q] < 0 || steps[q] >= sentences) return "a question is asked outside the stories";
  assign_questions(story_count, offsets, question_count, steps);
  assign_threads(story_count, offsets, wanted_threads);
  return nullptr;
}

void Plan::assign_questions(int64_t story_count, const int64_t* offsets, int64_t count, const int64_t* steps) {
  questions.resize(count);
  std::iota(questions.begin(), questions.end(), 0);
  std::stable_sort(questions.begin(), questions.end(),
                   [&](int64_t a, int64_t b) { return steps[a] < steps[b]; });
  question_start.resize(story_count + 1);
  int64_t at = 0;
  for (int64_t s = 0; s < story_count; ++s) {
    question_start[s] = at;
    while (at < count && steps[questions[at]] < offsets[s + 1]) ++at;
  }
  question_start[story_count] = at;
}

// Longest story first, each to the thread with the least to read: the same for every run.
void Plan::assign_threads(int64_t story_count, const int64_t* offsets, int64_t wanted) {
  threads = std::max<int64_t>(1, std::min(wanted, story_count));
  stories.resize(story_count);
  thread_start.assign(threads + 1, 0);
  if (threads == 1) {
    std::iota(stories.begin(), stories.end(), 0);
    thread_start[1] = story_count;
    return;
  }
  order_.resize(story_count);
  owner_.resize(story_count);
  load_.assign(threads, 0);
  std::iota(order_.begin(), order_.end(), 0);
  auto length = [&](int64_t s) { return offsets[s + 1] - offsets[s]; };
  std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  for (int64_t s : order_) {
    const int64_t thread = std::min_element(load_.begin(), load_.end()) - load_.begin();
    load_[thread] += length(s) + 1;
    owner_[s] = thread;
    ++thread_start[thread + 1];
  }
  std::partial_sum(thread_start.begin(), thread_start.end(), thread_start.begin());
  fill_.assign(thread_start.begin(), thread_start.end() - 1);
  for (int64_t s = 0; s < story_count; ++s) stories[fill_[owner_[s]]++] = s;
}
