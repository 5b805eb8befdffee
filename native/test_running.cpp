// Cuts random text, whole and in parts, for the sanitizers to watch: every array has its exact size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "running.h"

extern "C" {
void* entnet_words_new(const char*, int64_t, int64_t);
void entnet_words_free(void*);
const char* entnet_split(void*, EntnetSplit*);
}

namespace {

uint64_t dice = 7;

int64_t draw(int64_t below) {
  dice = dice * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((dice >> 33) % (uint64_t)below);
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

const char* const PARTS[] = {"Mary", " ",  "went", ".",    "\n",           "\n\n",        "Mr.",          "--",
                             "!",    "\"", "e.g.", "\xe2", "\xe2\x80\x9d", "\xe2\x80\x94", "\xe2\x80\xa6", "the"};

std::string text_of(int64_t parts) {
  std::string out;
  for (int64_t i = 0; i < parts; ++i) out += PARTS[draw(16)];
  return out;
}

// Sentences from the beginning of the text, from an array of its exact size; returns the bytes consumed.
int64_t cut(void* words, const std::string& text, bool final, int64_t longest, std::vector<int32_t>* into) {
  const int64_t most = 512;
  std::vector<char> exact(text.begin(), text.end());
  std::vector<int32_t> numbers((size_t)(most * longest));
  std::vector<int64_t> starts((size_t)most), ends((size_t)most), lines((size_t)most);
  EntnetSplit call{exact.data(), (int64_t)exact.size(), final, longest, most, numbers.data(), starts.data(),
                   ends.data(), lines.data(), 0, 0, 0, 0};
  require(!entnet_split(words, &call), "a split");
  for (int64_t i = 0; i < call.pieces; ++i)
    require(starts[(size_t)i] < ends[(size_t)i] && ends[(size_t)i] <= call.consumed, "places in the text");
  into->insert(into->end(), numbers.begin(), numbers.begin() + call.pieces * longest);
  return call.consumed;
}

}  // namespace

void test_running() {
  const char* list = "<null>\n<unknown>\nmary\nwent\nthe";
  void* words = entnet_words_new(list, (int64_t)std::strlen(list), 1);
  for (int64_t round = 0; round < 200; ++round) {
    const std::string text = text_of(draw(120));
    const int64_t longest = 1 + draw(9);
    std::vector<int32_t> whole, parts;
    require(cut(words, text, true, longest, &whole) == (int64_t)text.size(), "the whole text is read");
    std::string held;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + (size_t)draw(30);
      held += text.substr(at, size);
      at += size;
      held = held.substr((size_t)cut(words, held, false, longest, &parts));
    }
    cut(words, held, true, longest, &parts);
    require(whole == parts, "where a text is cut does not matter");
  }
  entnet_words_free(words);
}
