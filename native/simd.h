// One vector type for three instruction sets, on the compiler's own vector extensions.
//
// Everything that is compiled more than once lives in the namespace ENTNET_ISA and uses no standard
// templates: the linker would otherwise keep one copy of each for all instruction sets.
#pragma once

#include <math.h>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef ENTNET_ISA
#define ENTNET_ISA baseline
#endif

namespace ENTNET_ISA {

#if defined(__AVX512F__)
constexpr int LANES = 16;
constexpr int PANEL = 4;        // widest register tile, in vectors
constexpr int ACCUMULATORS = 24;
#elif defined(__AVX2__)
constexpr int LANES = 8;
constexpr int PANEL = 3;
constexpr int ACCUMULATORS = 12;
#else
constexpr int LANES = 4;
constexpr int PANEL = 3;
constexpr int ACCUMULATORS = 12;
#endif

// Rows are padded with zeros to a multiple of this, whatever the instruction set.
constexpr int64_t ALIGN = 16;

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float vec_u __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef float vec_a __attribute__((vector_size(LANES * 4), may_alias));

#define ENTNET_INLINE static inline __attribute__((always_inline))

ENTNET_INLINE int64_t padded(int64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }
ENTNET_INLINE vec load(const float* p) { return *reinterpret_cast<const vec_a*>(p); }
ENTNET_INLINE vec load_any(const float* p) { return *reinterpret_cast<const vec_u*>(p); }
ENTNET_INLINE void store(float* p, vec v) { *reinterpret_cast<vec_a*>(p) = v; }
ENTNET_INLINE void store_any(float* p, vec v) { *reinterpret_cast<vec_u*>(p) = v; }
ENTNET_INLINE vec splat(float x) { return x - vec{}; }
ENTNET_INLINE vec zero() { return vec{}; }

ENTNET_INLINE vec select(ivec mask, vec yes, vec no) { return mask ? yes : no; }
ENTNET_INLINE vec vmax(vec a, vec b) { return select(a > b, a, b); }
ENTNET_INLINE vec vmin(vec a, vec b) { return select(a < b, a, b); }

// The first n floats at p (n < LANES), zeros after them; never reads further.
ENTNET_INLINE vec load_part(const float* p, int64_t n) {
#if defined(__AVX512F__)
  return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
#else
  alignas(64) float buffer[LANES] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
#endif
}

ENTNET_INLINE void store_part(float* p, vec v, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)v);
#else
  alignas(64) float buffer[LANES];
  store(buffer, v);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
#endif
}

ENTNET_INLINE float hsum(vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#elif defined(__AVX2__)
  __m128 s = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
#else
  float s = 0.0f;
  for (int i = 0; i < LANES; ++i) s += v[i];
  return s;
#endif
}

ENTNET_INLINE float hmax(vec v) {
  float best = v[0];
  for (int i = 1; i < LANES; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

ENTNET_INLINE vec vsqrt(vec v) {
#if defined(__AVX512F__)
  return (vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
  return (vec)_mm256_sqrt_ps((__m256)v);
#else
  vec out;
  for (int i = 0; i < LANES; ++i) out[i] = sqrtf(v[i]);
  return out;
#endif
}

// e^x to about one unit in the last place, 0 below the smallest normal number: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2].
ENTNET_INLINE vec vexp(vec x) {
  const ivec vanishes = x < splat(-87.3f);
  x = vmin(vmax(x, splat(-87.3f)), splat(88.3f));
  vec scaled = x * splat(1.44269504f);
  ivec n = __builtin_convertvector(scaled + select(scaled < zero(), splat(-0.5f), splat(0.5f)), ivec);
  vec whole = __builtin_convertvector(n, vec);
  vec r = x - whole * splat(0.693359375f);
  r = r - whole * splat(-2.12194440e-4f);
  vec p = splat(1.9875691500e-4f);
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  p = p * r * r + r + splat(1.0f);
  ivec bits = (n + 127) << 23;
  vec power;
  memcpy(&power, &bits, sizeof(power));
  return select(vanishes, zero(), p * power);
}

ENTNET_INLINE vec sigmoid(vec x) { return splat(1.0f) / (splat(1.0f) + vexp(-x)); }

// The dot product of two padded rows.
ENTNET_INLINE float dot(const float* a, const float* b, int64_t n) {
  vec s0 = zero(), s1 = zero();
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    s0 += load(a + i) * load(b + i);
    s1 += load(a + i + LANES) * load(b + i + LANES);
  }
  for (; i < n; i += LANES) s0 += load(a + i) * load(b + i);
  return hsum(s0 + s1);
}

// y += a x
ENTNET_INLINE void axpy(float* y, float a, const float* x, int64_t n) {
  vec factor = splat(a);
  for (int64_t i = 0; i < n; i += LANES) store(y + i, load(y + i) + factor * load(x + i));
}

ENTNET_INLINE void fill_zero(float* p, int64_t n) { memset(p, 0, (size_t)n * sizeof(float)); }

// Copy a row of n floats and pad it with zeros to width.
ENTNET_INLINE void pad_row(float* out, const float* in, int64_t n, int64_t width) {
  memcpy(out, in, (size_t)n * sizeof(float));
  fill_zero(out + n, width - n);
}

ENTNET_INLINE void pad_rows(float* out, const float* in, int64_t rows, int64_t n, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) pad_row(out + i * width, in + i * n, n, width);
}

ENTNET_INLINE void unpad_rows(float* out, const float* in, int64_t rows, int64_t n, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) memcpy(out + i * n, in + i * width, (size_t)n * sizeof(float));
}

// out[j][i] = in[i][j], each row of out padded with zeros to width; in is rows x columns, dense.
ENTNET_INLINE void transpose(float* out, const float* in, int64_t rows, int64_t columns, int64_t width) {
  for (int64_t j = 0; j < columns; ++j) fill_zero(out + j * width + rows, width - rows);
  constexpr int64_t B = 8;
  for (int64_t i0 = 0; i0 < rows; i0 += B) {
    const int64_t i1 = i0 + B < rows ? i0 + B : rows;
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = i0; i < i1; ++i) out[j * width + i] = in[i * columns + j];
  }
}

// Denormals cost a hundred times a normal number: flush them, and put the caller's mode back.
struct FlushDenormals {
#if defined(__x86_64__)
  unsigned before;
  FlushDenormals() : before(_mm_getcsr()) { _mm_setcsr(before | 0x8040u); }
  ~FlushDenormals() { _mm_setcsr(before); }
#endif
};

}  // namespace ENTNET_ISA
