// Memory that is kept between calls, and cut into aligned pieces.
#pragma once

#include <cstddef>
#include <cstdint>

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

  __attribute__((always_inline)) void* bytes(size_t size) {
    void* out = base ? base + at : nullptr;
    at += (size + 63) / 64 * 64;
    return out;
  }
  __attribute__((always_inline)) float* floats(int64_t count) { return static_cast<float*>(bytes((size_t)count * sizeof(float))); }
};
