// Running text cut into sentences and words, as entnet/data/running.py specifies it.
#pragma once

#include <cstdint>

extern "C" {

// What a call reads and writes. Long sentences come in pieces of up to `longest` words.
struct EntnetSplit {
  const char* text;      // (size) bytes of UTF-8
  int64_t size;
  int64_t final;         // whether the text ends here; else an unfinished sentence is left for the next call
  int64_t longest, most; // words in a piece, pieces in a call
  int32_t* words;        // (most, longest), out: numbers of words, 0 behind the last
  int64_t *starts, *ends, *lines;  // (most), out: a piece's place in the text, and the line breaks before it
  int64_t consumed, pieces, runs, breaks;  // out: bytes read; runs of letters and line breaks in them
};
}
