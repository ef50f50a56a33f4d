// c = a * b for row-major f32 matrices of any sizes, as a person would write it for a
// CPU: what the generated kernel is compared with. A work-group is one work-item, which
// computes ROWS x COLUMNS of c; per DEPTH of the common dimension it packs its part of b
// into panels of 64 columns and copies its part of a, in local memory. 6 x 4 vectors of
// sums stay in registers. Beyond the edges the packed parts repeat the last row or
// column, and tiles that cross an edge are written through a small buffer.
//
// ==
// kernel: matmul
// arguments: a, b, result, n, k, m, local(4 * 252 * (256 + 16)), local(4 * 256 * 512)
// global size: ceil_div(m, 512), ceil_div(n, 252)
// local size: 1, 1

#define ROWS 252
#define COLUMNS 512
#define DEPTH 256
#define STRIDE (DEPTH + 16)

// PoCL does not inline vload16 where there are many, so that vectors are read and written
// as what they are, without a promise of alignment.
typedef float16 vector __attribute__((aligned(4)));
#define AT(space, place, number) (((space vector *)(place))[number])

#define EACH_ROW(M) M(0) M(1) M(2) M(3) M(4) M(5)
#define DECLARE(i) \
    float16 s##i##0 = 0.0f, s##i##1 = 0.0f, s##i##2 = 0.0f, s##i##3 = 0.0f;
#define LOAD(i) \
    s##i##0 = AT(global, to + i * p, 0); \
    s##i##1 = AT(global, to + i * p, 1); \
    s##i##2 = AT(global, to + i * p, 2); \
    s##i##3 = AT(global, to + i * p, 3);
#define LOAD_EDGE(i) \
    s##i##0 = AT(private, edge + i * 64, 0); \
    s##i##1 = AT(private, edge + i * 64, 1); \
    s##i##2 = AT(private, edge + i * 64, 2); \
    s##i##3 = AT(private, edge + i * 64, 3);
#define ADD(i) \
    { \
        float u = left[i * STRIDE + k]; \
        s##i##0 = s##i##0 + u * v0; \
        s##i##1 = s##i##1 + u * v1; \
        s##i##2 = s##i##2 + u * v2; \
        s##i##3 = s##i##3 + u * v3; \
    }
#define STORE(i) \
    AT(global, to + i * p, 0) = s##i##0; \
    AT(global, to + i * p, 1) = s##i##1; \
    AT(global, to + i * p, 2) = s##i##2; \
    AT(global, to + i * p, 3) = s##i##3;
#define STORE_EDGE(i) \
    AT(private, edge + i * 64, 0) = s##i##0; \
    AT(private, edge + i * 64, 1) = s##i##1; \
    AT(private, edge + i * 64, 2) = s##i##2; \
    AT(private, edge + i * 64, 3) = s##i##3;

#pragma OPENCL FP_CONTRACT ON

__attribute__((reqd_work_group_size(1, 1, 1)))
kernel void matmul(
    global const float *restrict a, global const float *restrict b,
    global float *restrict c, long n, long m, long p,
    local float *as, local float *bs)
{
    const long row = get_group_id(1) * ROWS;
    const long column = get_group_id(0) * COLUMNS;
    const long height = min((long)ROWS, n - row);
    const long width = min((long)COLUMNS, p - column);
    for (long first = 0; first < m; first += DEPTH) {
        const long deep = min((long)DEPTH, m - first);
        for (long k = 0; k < deep; k++) {
            global const float *from = b + (first + k) * p;
            for (long panel = 0; panel < COLUMNS / 64; panel++) {
                local float *to = bs + (panel * DEPTH + k) * 64;
                const long start = column + panel * 64;
                if (start + 64 <= p) {
                    for (int v = 0; v < 4; v++)
                        AT(local, to, v) = AT(global const, from + start, v);
                } else if (start < p) {
                    for (long j = 0; j < 64; j++)
                        to[j] = from[min(start + j, p - 1)];
                }
            }
        }
        for (long i = 0; i < (height + 5) / 6 * 6; i++) {
            global const float *from = a + min(row + i, n - 1) * m + first;
            for (long k = 0; k < deep; k++)
                as[i * STRIDE + k] = from[k];
        }
        for (long y = 0; y < height; y += 6) {
            for (long x = 0; x < width; x += 64) {
                global float *to = c + (row + y) * p + column + x;
                const bool inside = y + 6 <= height && x + 64 <= width;
                const long down = min(6L, height - y), across = min(64L, width - x);
                float edge[6 * 64];
                EACH_ROW(DECLARE)
                if (first > 0) {
                    if (inside) {
                        EACH_ROW(LOAD)
                    } else {
                        for (long i = 0; i < down; i++)
                            for (long j = 0; j < across; j++)
                                edge[i * 64 + j] = to[i * p + j];
                        EACH_ROW(LOAD_EDGE)
                    }
                }
                local const float *left = as + y * STRIDE;
                local const float *right = bs + x * DEPTH;
                for (long k = 0; k < deep; k++) {
                    float16 v0 = AT(local const, right + k * 64, 0);
                    float16 v1 = AT(local const, right + k * 64, 1);
                    float16 v2 = AT(local const, right + k * 64, 2);
                    float16 v3 = AT(local const, right + k * 64, 3);
                    EACH_ROW(ADD)
                }
                if (inside) {
                    EACH_ROW(STORE)
                } else {
                    EACH_ROW(STORE_EDGE)
                    for (long i = 0; i < down; i++)
                        for (long j = 0; j < across; j++)
                            to[i * p + j] = edge[i * 64 + j];
                }
            }
        }
    }
}
