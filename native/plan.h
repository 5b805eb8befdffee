// Which thread reads which stories, and which questions belong to which story.
#pragma once

#include <cstdint>
#include <vector>

// A plan as the kernels see it.
struct PlanView {
  int64_t threads, longest;
  const int64_t *stories, *thread_start, *questions, *question_start;
};

struct Plan {
  int64_t threads = 1;
  int64_t longest = 0;                   // sentences of a story
  std::vector<int64_t> stories;          // by thread
  std::vector<int64_t> thread_start;     // (threads + 1) into `stories`
  std::vector<int64_t> questions;        // by story, then by step
  std::vector<int64_t> question_start;   // (S + 1) into `questions`

  // Returns null, or what is wrong with the batch.
  const char* make(int64_t sentences, int64_t story_count, const int64_t* offsets, int64_t question_count,
                   const int64_t* steps, int64_t wanted_threads);

  PlanView view() const {
    return {threads, longest, stories.data(), thread_start.data(), questions.data(), question_start.data()};
  }

 private:
  void assign_questions(int64_t story_count, const int64_t* offsets, int64_t count, const int64_t* steps);
  void assign_threads(int64_t story_count, const int64_t* offsets, int64_t wanted);
  std::vector<int64_t> order_, owner_, load_, fill_;
};
