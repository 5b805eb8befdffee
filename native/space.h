// Memory that is kept between calls, and cut into aligned pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Grows, never shrinks; contents are lost when it grows.
struct Buffer {
  char* data = nullptr;
  size_t size = 0;
};

// At least `size` bytes at a multiple of 64. After entnet_poison(1), filled with NaN at every call.
char* reserve(Buffer* buffer, size_t size);
void release(Buffer* buffer);

// Runs of pieces are laid out twice: once without a base, to learn the size, and once for good.
struct Cutter {
  char* base = nullptr;
  size_t at = 0;
  bool gaps = true;  // under AddressSanitizer, forbidden bytes after each piece

  __attribute__((always_inline)) void* bytes(size_t size) {
    char* out = base ? base + at : nullptr;
    at += (size + 63) / 64 * 64;
#if defined(__SANITIZE_ADDRESS__)
    if (gaps) at += 64;
    if (gaps && base) ASAN_POISON_MEMORY_REGION(out + size, (size_t)(base + at - (out + size)));
#endif
    return out;
  }
  __attribute__((always_inline)) float* floats(int64_t count) { return static_cast<float*>(bytes((size_t)count * sizeof(float))); }
};
