// c = a * b for row-major f32 matrices of any sizes, as a person would write it for a
// GPU: what the generated kernel of the same shape is compared with. A work-group of
// ROWS x COLUMNS work-items computes a tile of c; per DEPTH of the common dimension all
// copy their part of both matrices into local memory, neighbours by neighbours. Each
// work-item keeps 4 x 4 sums in registers from the first to the last step. Beyond the
// edges the copies repeat the last row or column; only what lies inside is written.
//
// ==
// kernel: matmul
// arguments: a, b, result, n, k, m
// global size: 256 * (ceil_div(n, 64) * ceil_div(m, 64))
// local size: 256

#define ROWS 16
#define COLUMNS 16
#define DEPTH 16
#define TILE_ROWS (ROWS * 4)
#define TILE_COLUMNS (COLUMNS * 4)
#define THREADS (ROWS * COLUMNS)

#define EACH_ROW(M) M(0) M(1) M(2) M(3)
#define DECLARE(i) float s##i##0 = 0, s##i##1 = 0, s##i##2 = 0, s##i##3 = 0;
#define ADD(i) \
    { \
        float u = as[(y * 4 + i) * DEPTH + k]; \
        s##i##0 += u * v0; \
        s##i##1 += u * v1; \
        s##i##2 += u * v2; \
        s##i##3 += u * v3; \
    }
#define STORE_ONE(i, j) if (to_column + j < p) c[(to_row + i) * p + to_column + j] = s##i##j;
#define STORE(i) \
    if (to_row + i < n) { \
        STORE_ONE(i, 0) STORE_ONE(i, 1) STORE_ONE(i, 2) STORE_ONE(i, 3) \
    }

#pragma OPENCL FP_CONTRACT ON

kernel void matmul(
    global const float *restrict a, global const float *restrict b,
    global float *restrict c, long n, long m, long p)
{
    local float as[TILE_ROWS * DEPTH], bs[DEPTH * TILE_COLUMNS];
    const long groups = (p + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const long row = get_group_id(0) / groups * TILE_ROWS;
    const long column = get_group_id(0) % groups * TILE_COLUMNS;
    const long lane = get_local_id(0), y = lane / COLUMNS, x = lane % COLUMNS;
    EACH_ROW(DECLARE)
    for (long first = 0; first < m; first += DEPTH) {
        if (row + TILE_ROWS <= n && first + DEPTH <= m) {
            for (long at = lane; at < TILE_ROWS * DEPTH; at += THREADS)
                as[at] = a[(row + at / DEPTH) * m + first + at % DEPTH];
        } else {
            for (long at = lane; at < TILE_ROWS * DEPTH; at += THREADS)
                as[at] = a[min(row + at / DEPTH, n - 1) * m
                           + min(first + at % DEPTH, m - 1)];
        }
        if (column + TILE_COLUMNS <= p && first + DEPTH <= m) {
            for (long at = lane; at < DEPTH * TILE_COLUMNS; at += THREADS)
                bs[at] = b[(first + at / TILE_COLUMNS) * p + column + at % TILE_COLUMNS];
        } else {
            for (long at = lane; at < DEPTH * TILE_COLUMNS; at += THREADS)
                bs[at] = b[min(first + at / TILE_COLUMNS, m - 1) * p
                           + min(column + at % TILE_COLUMNS, p - 1)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const long deep = min((long)DEPTH, m - first);
        for (long k = 0; k < deep; k++) {
            const float v0 = bs[k * TILE_COLUMNS + x * 4];
            const float v1 = bs[k * TILE_COLUMNS + x * 4 + 1];
            const float v2 = bs[k * TILE_COLUMNS + x * 4 + 2];
            const float v3 = bs[k * TILE_COLUMNS + x * 4 + 3];
            EACH_ROW(ADD)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const long to_row = row + y * 4, to_column = column + x * 4;
    EACH_ROW(STORE)
}
