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

// The arguments of one tile: C (R x vectors) = start + A B over K.
struct TileArguments {
  int64_t K, lda, ldb, ldc, start_stride;
  const float *a, *b, *start_rows, *start_common;
  float* c;
};

template <int R, int C, Layout LAYOUT>
static __attribute__((noinline)) void tile(const TileArguments& t) {
  vec sum[R][C];
  const float *a = t.a, *b = t.b;
  const int64_t lda = t.lda, ldb = t.ldb;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) {
      sum[r][j] = t.start_rows ? load(t.start_rows + r * t.start_stride + j * LANES) : zero();
      if (t.start_common) sum[r][j] += load(t.start_common + j * LANES);
    }
  }
  for (int64_t k = 0; k < t.K; ++k) {
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
    for (int j = 0; j < C; ++j) store(t.c + r * t.ldc + j * LANES, sum[r][j]);
}

using Tile = void (*)(const TileArguments&);

constexpr int MOST_ROWS = 12;

// The tile of so many rows: what fits the registers, at most MOST_ROWS.
template <int C, Layout LAYOUT>
ENTNET_INLINE Tile tile_of(int64_t rows) {
  constexpr int MOST = ACCUMULATORS / C < MOST_ROWS ? ACCUMULATORS / C : MOST_ROWS;
#define ENTNET_TILE(R) \
  case R:              \
    if constexpr (R <= MOST) return tile<R, C, LAYOUT>; else return nullptr;
  switch (rows) {
    ENTNET_TILE(1) ENTNET_TILE(2) ENTNET_TILE(3) ENTNET_TILE(4) ENTNET_TILE(5) ENTNET_TILE(6)
    ENTNET_TILE(7) ENTNET_TILE(8) ENTNET_TILE(9) ENTNET_TILE(10) ENTNET_TILE(11) ENTNET_TILE(12)
    default: return nullptr;
  }
#undef ENTNET_TILE
}

// All M rows of one panel, in blocks that differ by at most one row.
template <int C, Layout LAYOUT>
ENTNET_INLINE void panel(int64_t M, TileArguments t) {
  constexpr int MOST = ACCUMULATORS / C < MOST_ROWS ? ACCUMULATORS / C : MOST_ROWS;
  const int64_t blocks = (M + MOST - 1) / MOST;
  if (blocks == 0) return;
  const int64_t small = M / blocks, large_blocks = M % blocks;
  const Tile small_tile = tile_of<C, LAYOUT>(small);
  const Tile large_tile = large_blocks ? tile_of<C, LAYOUT>(small + 1) : small_tile;
  for (int64_t block = 0; block < blocks; ++block) {
    const bool large = block < large_blocks;
    const int64_t rows = small + large;
    (large ? large_tile : small_tile)(t);
    t.a += LAYOUT == ROWS ? rows * t.lda : rows;
    t.c += rows * t.ldc;
    if (t.start_rows) t.start_rows += rows * t.start_stride;
  }
}

// M x N (N a multiple of ALIGN) = start + A (M x K) B (K x N)
template <Layout LAYOUT>
static void gemm(int64_t M, int64_t N, int64_t K, const float* a, int64_t lda, const float* b, int64_t ldb,
                 float* c, int64_t ldc, Start start = {}) {
  int64_t left = N / LANES;
  TileArguments t{K, lda, ldb, ldc, start.stride, a, b, start.rows, start.common, c};
  for (int64_t panels = (left + PANEL - 1) / PANEL; panels > 0; --panels) {
    const int64_t width = (left + panels - 1) / panels;
    switch (width) {
      case 1: panel<1, LAYOUT>(M, t); break;
      case 2: panel<2, LAYOUT>(M, t); break;
      case 3: panel<3, LAYOUT>(M, t); break;
      default:
        if constexpr (PANEL >= 4) panel<4, LAYOUT>(M, t);
    }
    t.b += width * LANES;
    t.c += width * LANES;
    if (t.start_rows) t.start_rows += width * LANES;
    if (t.start_common) t.start_common += width * LANES;
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
