// C = start + A B for small matrices, B and C padded to whole vectors.
//
// A register tile is R rows of C by up to PANEL vectors. A panel of B (K rows of PANEL vectors) stays in
// the first-level cache while all rows pass over it.
#pragma once

#include "simd.h"

namespace ENTNET_ISA {

enum Layout { ROWS, COLUMNS };  // where A's element (r, k) is: a[r * lda + k] or a[k * lda + r]

// What C starts from: nothing, rows of a matrix (C itself, to accumulate), one row for all, or both.
struct Start {
  const float* rows = nullptr;
  int64_t stride = 0;
  const float* common = nullptr;
};

template <int R, int C, Layout LAYOUT>
static __attribute__((noinline)) void tile(int64_t K, const float* a, int64_t lda, const float* b,
                                           int64_t ldb, float* c, int64_t ldc, Start start) {
  vec sum[R][C];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) {
      sum[r][j] = start.rows ? load(start.rows + r * start.stride + j * LANES) : zero();
      if (start.common) sum[r][j] += load(start.common + j * LANES);
    }
  }
  for (int64_t k = 0; k < K; ++k) {
    vec right[C];
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) right[j] = load(b + j * LANES);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const vec left = splat(LAYOUT == ROWS ? a[r * lda] : a[r]);
#pragma GCC unroll 8
      for (int j = 0; j < C; ++j) sum[r][j] += left * right[j];
    }
    a += LAYOUT == ROWS ? 1 : lda;
    b += ldb;
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) store(c + r * ldc + j * LANES, sum[r][j]);
}

// Tiles of fewer rows than the most that fit are picked by recursion over R.
template <int R, int C, Layout LAYOUT>
ENTNET_INLINE void tile_of(int rows, int64_t K, const float* a, int64_t lda, const float* b, int64_t ldb,
                           float* c, int64_t ldc, const Start& start) {
  if constexpr (R >= 1) {
    if (rows == R)
      tile<R, C, LAYOUT>(K, a, lda, b, ldb, c, ldc, start);
    else
      tile_of<R - 1, C, LAYOUT>(rows, K, a, lda, b, ldb, c, ldc, start);
  }
}

template <int C, Layout LAYOUT>
static void panel(int64_t M, int64_t K, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                  int64_t ldc, Start start) {
  constexpr int MOST = ACCUMULATORS / C < 12 ? ACCUMULATORS / C : 12;
  const int64_t blocks = (M + MOST - 1) / MOST;
  int64_t r = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const int rows = (int)((M - r + blocks - block - 1) / (blocks - block));  // near-equal blocks
    Start here = start;
    if (here.rows) here.rows += r * start.stride;
    tile_of<MOST, C, LAYOUT>(rows, K, a + (LAYOUT == ROWS ? r * lda : r), lda, b, ldb, c + r * ldc, ldc,
                             here);
    r += rows;
  }
}

// M x N (N a multiple of ALIGN) = start + A (M x K) B (K x N)
template <Layout LAYOUT>
static void gemm(int64_t M, int64_t N, int64_t K, const float* a, int64_t lda, const float* b, int64_t ldb,
                 float* c, int64_t ldc, Start start = {}) {
  int64_t left = N / LANES;
  int64_t panels = (left + PANEL - 1) / PANEL;
  int64_t at = 0;
  for (; panels > 0; --panels) {
    const int64_t width = (left + panels - 1) / panels;
    Start here = start;
    if (here.rows) here.rows += at;
    if (here.common) here.common += at;
    switch (width) {
      case 1: panel<1, LAYOUT>(M, K, a, lda, b + at, ldb, c + at, ldc, here); break;
      case 2: panel<2, LAYOUT>(M, K, a, lda, b + at, ldb, c + at, ldc, here); break;
      case 3: panel<3, LAYOUT>(M, K, a, lda, b + at, ldb, c + at, ldc, here); break;
      default:
        if constexpr (PANEL >= 4) panel<4, LAYOUT>(M, K, a, lda, b + at, ldb, c + at, ldc, here);
    }
    at += width * LANES;
    left -= width;
  }
}

// c += A B
template <Layout LAYOUT>
ENTNET_INLINE void gemm_add(int64_t M, int64_t N, int64_t K, const float* a, int64_t lda, const float* b,
                            int64_t ldb, float* c, int64_t ldc) {
  gemm<LAYOUT>(M, N, K, a, lda, b, ldb, c, ldc, Start{c, ldc, nullptr});
}

}  // namespace ENTNET_ISA
