// One pass over the bytes: runs between blanks, words in runs, sentences of words.
#include "running.h"

#include <cstring>
#include <string>
#include <vector>

#define ENTNET_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// More words than this are cut without a full stop: text that has none is no reason to keep it all.
constexpr int64_t MOST_WORDS = 512;
constexpr int64_t LONGEST_RUN = 4096;

bool is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Words by their bytes, in a table of twice as many places or more.
class Words {
 public:
  // `text` has the words 0, 1, 2, … one a line.
  Words(const char* text, int64_t size, int64_t unknown) : unknown(unknown) {
    std::vector<std::string> words;
    for (int64_t at = 0; at <= size;) {
      const char* end = static_cast<const char*>(memchr(text + at, '\n', (size_t)(size - at)));
      const int64_t length = end ? end - (text + at) : size - at;
      words.emplace_back(text + at, (size_t)length);
      at += length + 1;
    }
    size_t places = 64;
    while (places < 4 * words.size()) places *= 2;
    mask = places - 1;
    table.resize(places);
    for (size_t i = 0; i < words.size(); ++i) {
      size_t place = hash(words[i].data(), (int64_t)words[i].size()) & mask;
      while (!table[place].word.empty()) place = (place + 1) & mask;
      table[place] = {words[i], (int32_t)i};
      if (words[i].size() < sizeof(lengths) * 8) lengths |= uint64_t{1} << words[i].size();
    }
  }

  // The word's number, in lower case.
  int32_t number(const char* word, int64_t length) const {
    char small[64];
    if (length >= (int64_t)sizeof(small) || !(lengths >> length & 1)) return (int32_t)unknown;
    for (int64_t i = 0; i < length; ++i) small[i] = lower(word[i]);
    for (size_t place = hash(small, length) & mask; !table[place].word.empty(); place = (place + 1) & mask)
      if (table[place].word.size() == (size_t)length && !memcmp(table[place].word.data(), small, (size_t)length))
        return table[place].number;
    return (int32_t)unknown;
  }

 private:
  struct Entry {
    std::string word;
    int32_t number;
  };
  static size_t hash(const char* word, int64_t length) {
    uint64_t h = 1469598103934665603ull;
    for (int64_t i = 0; i < length; ++i) h = (h ^ (unsigned char)word[i]) * 1099511628211ull;
    return (size_t)(h ^ h >> 29);
  }
  std::vector<Entry> table;
  size_t mask;
  uint64_t lengths = 0;  // bit n: there is a word of n bytes
  int64_t unknown;
};

// Marks at the edges of words; of several bytes: “ ” ‘ ’ … « ».
constexpr const char* EDGES = ".,;:!?\"()[]{}*_'`";
constexpr const char* WIDE_EDGES[] = {"\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99",
                                      "\xe2\x80\xa6", "\xc2\xab", "\xc2\xbb"};
constexpr const char* CLOSERS = "\"')]}*_";
constexpr const char* WIDE_CLOSERS[] = {"\xe2\x80\x9d", "\xe2\x80\x99", "\xc2\xbb"};
constexpr const char* ELLIPSIS = "\xe2\x80\xa6";
constexpr const char* DASHES[] = {"\xe2\x80\x93", "\xe2\x80\x94"};  // en and em
constexpr const char* ABBREVIATIONS[] = {"mr",   "mrs",  "ms",  "dr",  "st",   "prof", "rev",  "capt", "col", "gen", "lieut",
                                         "lt",   "sr",   "jr",  "vs",  "no",   "vol",  "chap", "fig",  "hon", "messrs", "mme",
                                         "mlle", "sgt",  "maj", "adm", "gov",  "pres", "esq",  "viz",  "cf"};

struct EdgeTable {
  bool is[256] = {};
  EdgeTable() {
    for (const char* c = EDGES; *c; ++c) is[(unsigned char)*c] = true;
  }
};
const EdgeTable edges;

// How many bytes of one of the marks stand at p, or before p where `back`; 0 if none does.
template <size_t N>
int64_t wide(const char* const (&marks)[N], const char* p, int64_t room, bool back) {
  if (room < 2 || (unsigned char)p[back ? -1 : 0] < 0x80) return 0;
  for (const char* mark : marks) {
    const int64_t n = (int64_t)strlen(mark);
    if (room >= n && !memcmp(back ? p - n : p, mark, (size_t)n)) return n;
  }
  return 0;
}

void strip(const char*& a, const char*& b) {
  while (a < b) {
    const int64_t n = edges.is[(unsigned char)*a] ? 1 : wide(WIDE_EDGES, a, b - a, false);
    if (!n) break;
    a += n;
  }
  while (a < b) {
    const int64_t n = edges.is[(unsigned char)b[-1]] ? 1 : wide(WIDE_EDGES, b, b - a, true);
    if (!n) break;
    b -= n;
  }
}

// Whether a run ends a sentence, as far as the run itself says.
enum class End { no, yes, unless_lower_case_follows };

End end_of(const char* a, const char* b) {
  while (a < b) {
    const int64_t n = memchr(CLOSERS, b[-1], strlen(CLOSERS)) ? 1 : wide(WIDE_CLOSERS, b, b - a, true);
    if (!n) break;
    b -= n;
  }
  const char* stop = b;
  bool plain = true;
  while (a < stop) {
    const char last = stop[-1];
    if (last == '.' || last == '!' || last == '?') {
      plain = plain && last == '.';
      stop -= 1;
    } else if (stop - a >= 3 && !memcmp(stop - 3, ELLIPSIS, 3)) {
      plain = false;
      stop -= 3;
    } else {
      break;
    }
  }
  if (stop == b) return End::no;
  if (!plain || b - stop > 1) return End::unless_lower_case_follows;
  const char* word = a;
  strip(word, stop);
  const int64_t length = stop - word;
  if (length == 0 || length > 8) return End::yes;
  char small[9] = {};
  for (int64_t i = 0; i < length; ++i) small[i] = lower(word[i]);
  if (length == 1 && is_lower(small[0]) && small[0] != 'i') return End::no;
  if (memchr(small, '.', (size_t)length)) return End::unless_lower_case_follows;
  for (const char* abbreviation : ABBREVIATIONS)
    if (!strcmp(small, abbreviation)) return End::no;
  return End::yes;
}

struct Word {
  int32_t number;
  int64_t start, end, line;
};

class Splitter {
 public:
  Splitter(const Words& words, EntnetSplit& call) : words(words), call(call) {}

  void go() {
    const char* const text = call.text;
    int64_t at = 0, breaks = 0;
    call.pieces = call.consumed = call.runs = call.breaks = 0;
    while (true) {
      int64_t empty_lines = 0;
      while (at < call.size && is_blank((unsigned char)text[at])) empty_lines += text[at] == '\n', ++at;
      breaks += empty_lines;
      if (at == call.size && !call.final) return;
      if (empty_lines > 1 || at == call.size) {
        if (!close(at, breaks)) return;
      } else if (ends == End::yes || (ends == End::unless_lower_case_follows && !is_lower(text[at]))) {
        if (!close(at, breaks)) return;
      }
      if (at == call.size) return;
      int64_t end = at;
      while (end < call.size && !is_blank((unsigned char)text[end]) && end - at < LONGEST_RUN) ++end;
      if (end == call.size && !call.final && end - at < LONGEST_RUN) return;
      run(at, end, breaks);
      at = end;
      const bool full = (int64_t)sentence.size() >= MOST_WORDS;
      if ((full || sentence.empty()) && !close(at, breaks)) return;
    }
  }

 private:
  // The words of a run between blanks; dashes stand between words as blanks do.
  void run(int64_t a, int64_t b, int64_t breaks) {
    ++runs;
    const char* text = call.text;
    int64_t from = a;
    for (int64_t i = a; i < b;) {
      int64_t dash = wide(DASHES, text + i, b - i, false);
      if (text[i] == '-' && i + 1 < b && text[i + 1] == '-') {
        dash = 2;
        while (i + dash < b && text[i + dash] == '-') ++dash;
      }
      if (!dash) {
        ++i;
        continue;
      }
      word(from, i, breaks);
      from = i += dash;
    }
    word(from, b, breaks);
    ends = end_of(text + from, text + b);
  }

  void word(int64_t from, int64_t to, int64_t breaks) {
    const char *a = call.text + from, *b = call.text + to;
    strip(a, b);
    if (a == b) return;
    sentence.push_back({words.number(a, b - a), from, to, breaks});
  }

  // Writes the sentence down, in pieces as even as can be; false if there is no room.
  bool close(int64_t at, int64_t breaks) {
    const int64_t n = (int64_t)sentence.size(), L = call.longest, pieces = (n + L - 1) / L;
    if (call.pieces + pieces > call.most) return false;
    for (int64_t i = 0, first = 0; i < pieces; ++i) {
      const int64_t last = n * (i + 1) / pieces;
      int32_t* row = call.words + call.pieces * L;
      memset(row, 0, (size_t)L * sizeof(int32_t));
      for (int64_t k = first; k < last; ++k) row[k - first] = sentence[(size_t)k].number;
      call.starts[call.pieces] = sentence[(size_t)first].start;
      call.ends[call.pieces] = sentence[(size_t)last - 1].end;
      call.lines[call.pieces++] = sentence[(size_t)first].line;
      first = last;
    }
    sentence.clear();
    ends = End::no;
    call.consumed = at, call.breaks = breaks, call.runs += runs;
    runs = 0;
    return true;
  }

  const Words& words;
  EntnetSplit& call;
  std::vector<Word> sentence;
  End ends = End::no;
  int64_t runs = 0;
};

}  // namespace

ENTNET_EXPORT void* entnet_words_new(const char* text, int64_t size, int64_t unknown) {
  return new Words(text, size, unknown);
}

ENTNET_EXPORT void entnet_words_free(void* words) { delete static_cast<Words*>(words); }

ENTNET_EXPORT const char* entnet_split(void* words, EntnetSplit* call) {
  if (call->longest < 1 || call->most < MOST_WORDS) return "a piece needs a word, and a call room for a sentence";
  Splitter(*static_cast<Words*>(words), *call).go();
  return nullptr;
}
