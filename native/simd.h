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
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float best = v[0];
  for (int i = 1; i < LANES; ++i) best = v[i] > best ? v[i] : best;
  return best;
#endif
}

// out[0 … 3] = the sums of four vectors, for little more than the price of one.
ENTNET_INLINE void hsum4(vec a, vec b, vec c, vec d, float* out) {
#if defined(__AVX512F__)
  const __m512 p = (__m512)a, q = (__m512)b, r = (__m512)c, s = (__m512)d;
  const __m512d pq = _mm512_castps_pd(_mm512_unpacklo_ps(p, q) + _mm512_unpackhi_ps(p, q));
  const __m512d rs = _mm512_castps_pd(_mm512_unpacklo_ps(r, s) + _mm512_unpackhi_ps(r, s));
  const __m512 all = _mm512_castpd_ps(_mm512_unpacklo_pd(pq, rs)) + _mm512_castpd_ps(_mm512_unpackhi_pd(pq, rs));
  const __m256 half = _mm512_castps512_ps256(all) + _mm512_extractf32x8_ps(all, 1);
  _mm_storeu_ps(out, _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1));
#elif defined(__AVX2__)
  const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps((__m256)a, (__m256)b) + _mm256_unpackhi_ps((__m256)a, (__m256)b));
  const __m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps((__m256)c, (__m256)d) + _mm256_unpackhi_ps((__m256)c, (__m256)d));
  const __m256 all = _mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)) + _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd));
  _mm_storeu_ps(out, _mm256_castps256_ps128(all) + _mm256_extractf128_ps(all, 1));
#else
  const vec parts[] = {a, b, c, d};
  for (int k = 0; k < 4; ++k) out[k] = hsum(parts[k]);
#endif
}

// Sums of G vectors, G being 4 or 1.
template <int G>
ENTNET_INLINE void hsums(const vec* v, float* out) {
  if constexpr (G == 4)
    hsum4(v[0], v[1], v[2], v[3], out);
  else
    *out = hsum(v[0]);
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

// 1 / x for positive x, to the last bit or two: an estimate, and one step of Newton's method.
ENTNET_INLINE vec reciprocal(vec x) {
#if defined(__AVX512F__)
  const vec guess = (vec)_mm512_rcp14_ps((__m512)x);
  return guess * (splat(2.0f) - x * guess);
#else
  return splat(1.0f) / x;
#endif
}

// Calls work.template go<G>(j) for slots j … j + G - 1, four at a time and then one by one.
template <typename Work>
ENTNET_INLINE void by_slots(int64_t m, Work work) {
  int64_t j = 0;
  for (; j + 4 <= m; j += 4) work.template go<4>(j);
  for (; j < m; ++j) work.template go<1>(j);
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

ENTNET_INLINE vec vtanh(vec x) {
  const vec e = vexp(splat(-2.0f) * vmax(x, -x));
  const vec size = (splat(1.0f) - e) / (splat(1.0f) + e);
  return select(x < zero(), -size, size);
}

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

// Copy a row of n floats and pad it with zeros to width; rows are too short for memcpy to pay.
ENTNET_INLINE void pad_row(float* out, const float* in, int64_t n, int64_t width) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store(out + i, load_any(in + i));
  if (i < n) store(out + i, load_part(in + i, n - i)), i += LANES;
  for (; i < width; i += LANES) store(out + i, zero());
}

// The other way: n floats of a padded row.
ENTNET_INLINE void unpad_row(float* out, const float* in, int64_t n) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store_any(out + i, load(in + i));
  if (i < n) store_part(out + i, load(in + i), n - i);
}

ENTNET_INLINE void pad_rows(float* out, const float* in, int64_t rows, int64_t n, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) pad_row(out + i * width, in + i * n, n, width);
}

ENTNET_INLINE void unpad_rows(float* out, const float* in, int64_t rows, int64_t n, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) unpad_row(out + i * n, in + i * width, n);
}

// Clang has no __builtin_shuffle, and GCC before version 12 no __builtin_shufflevector.
#if defined(__clang__)
#define ENTNET_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int32_t picks __attribute__((vector_size(16)));
#define ENTNET_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, picks{i, j, k, l})
#endif

typedef float quad __attribute__((vector_size(16)));
typedef float quad_u __attribute__((vector_size(16), aligned(4), may_alias));

// out[j][i] = in[i][j] for a block of 4 x 4.
ENTNET_INLINE void transpose_block(float* out, int64_t out_width, const float* in, int64_t in_width) {
  quad r[4];
  for (int i = 0; i < 4; ++i) r[i] = *reinterpret_cast<const quad_u*>(in + i * in_width);
  const quad low01 = ENTNET_PICK(r[0], r[1], 0, 4, 1, 5);
  const quad low23 = ENTNET_PICK(r[2], r[3], 0, 4, 1, 5);
  const quad high01 = ENTNET_PICK(r[0], r[1], 2, 6, 3, 7);
  const quad high23 = ENTNET_PICK(r[2], r[3], 2, 6, 3, 7);
  *reinterpret_cast<quad_u*>(out) = ENTNET_PICK(low01, low23, 0, 1, 4, 5);
  *reinterpret_cast<quad_u*>(out + out_width) = ENTNET_PICK(low01, low23, 2, 3, 6, 7);
  *reinterpret_cast<quad_u*>(out + 2 * out_width) = ENTNET_PICK(high01, high23, 0, 1, 4, 5);
  *reinterpret_cast<quad_u*>(out + 3 * out_width) = ENTNET_PICK(high01, high23, 2, 3, 6, 7);
}

// out[j][i] = in[i][j], each row of out padded with zeros to width; in is rows x columns, dense.
ENTNET_INLINE void transpose(float* out, const float* in, int64_t rows, int64_t columns, int64_t width) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = rows / LANES * LANES; i < width; i += LANES) store(out + j * width + i, zero());
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t i = 0; i < whole_rows; i += 4)
    for (int64_t j = 0; j < whole_columns; j += 4)
      transpose_block(out + j * width + i, width, in + i * columns + j, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      out[j * width + i] = in[i * columns + j];
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
