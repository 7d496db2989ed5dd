#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require

// A tile of the table times a tile of planes, by products of matrices of bytes. `compile` gives the sizes: a workgroup has
// BM rows and BN planes, a subgroup WM and WN of them, and a step STEP slabs of 16 columns.

#define SUBGROUPS_N (BN / WN)
#define THREADS (32 * (BM / WM) * SUBGROUPS_N)
// Slabs of a row in shared memory: an odd number keeps rows in different banks.
#define STRIDE (STEP + 1)
#define LOADS_A (BM * STEP / THREADS)
#define LOADS_B (BN * STEP / THREADS)

layout(local_size_x = THREADS) in;
layout(set = 0, binding = 0) readonly buffer Table { uvec4 table[]; };
layout(set = 0, binding = 1) readonly buffer Queries { uvec4 queries[]; };
layout(set = 0, binding = 2) buffer Sums { uint sums[]; };
layout(set = 0, binding = 3) uniform Pass { uint slabs; uint planes; uint panels; uint split_slabs; uint padded_rows; };

shared uvec4 a[BM * STRIDE];
shared uvec4 b[BN * STRIDE];

#define MATRIX(USE, ROWS, COLS) coopmat<uint8_t, gl_ScopeSubgroup, ROWS, COLS, USE>
#define SUMS coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>

void main() {
    const uint local = gl_LocalInvocationIndex;
    const uint subgroup = gl_LocalInvocationIndex / 32;
    const uint row0 = (subgroup / SUBGROUPS_N) * WM;
    const uint col0 = (subgroup % SUBGROUPS_N) * WN;
    const uint plane0 = gl_WorkGroupID.x * BN;
    const uint panel0 = gl_WorkGroupID.y * (BM / 64);
    const uint first = gl_WorkGroupID.z * split_slabs;
    const uint last = min(first + split_slabs, slabs);

    SUMS acc[WM / 16][WN / 16];
    [[unroll]] for (uint i = 0; i < WM / 16; i++)
        [[unroll]] for (uint j = 0; j < WN / 16; j++)
            acc[i][j] = SUMS(0);

    // The next step is read while one is multiplied, and waits in registers.
    uvec4 next_a[LOADS_A];
    uvec4 next_b[LOADS_B];
#define FETCH(slab) \
    [[unroll]] for (uint l = 0; l < LOADS_A; l++) { \
        uint at = l * THREADS + local; \
        uint row = at % BM; \
        uint panel = min(panel0 + row / 64, panels - 1); \
        next_a[l] = table[(panel * slabs + (slab) + at / BM) * 64 + row % 64]; \
    } \
    [[unroll]] for (uint l = 0; l < LOADS_B; l++) { \
        uint at = l * THREADS + local; \
        next_b[l] = queries[((slab) + at / BN) * planes + plane0 + at % BN]; \
    }
#define STORE \
    [[unroll]] for (uint l = 0; l < LOADS_A; l++) { \
        uint at = l * THREADS + local; \
        a[at % BM * STRIDE + at / BM] = next_a[l]; \
    } \
    [[unroll]] for (uint l = 0; l < LOADS_B; l++) { \
        uint at = l * THREADS + local; \
        b[at % BN * STRIDE + at / BN] = next_b[l]; \
    }

    FETCH(first)
    for (uint slab = first; slab < last; slab += STEP) {
        STORE
        barrier();
        if (slab + STEP < last) {
            FETCH(slab + STEP)
        }
        [[unroll]] for (uint k = 0; k < STEP; k += 2) {
            MATRIX(gl_MatrixUseA, 16, 32) rows[WM / 16];
            [[unroll]] for (uint i = 0; i < WM / 16; i++)
                coopMatLoad(rows[i], a, (row0 + 16 * i) * STRIDE + k, STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint j = 0; j < WN / 16; j++) {
                MATRIX(gl_MatrixUseB, 32, 16) column;
                coopMatLoad(column, b, (col0 + 16 * j) * STRIDE + k, STRIDE, gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (uint i = 0; i < WM / 16; i++)
                    acc[i][j] = coopMatMulAdd(rows[i], column, acc[i][j]);
            }
        }
        barrier();
    }
    [[unroll]] for (uint i = 0; i < WM / 16; i++)
        [[unroll]] for (uint j = 0; j < WN / 16; j++) {
            uint plane = gl_WorkGroupID.z * planes + plane0 + col0 + 16 * j;
            uint row = gl_WorkGroupID.y * BM + row0 + 16 * i;
            coopMatStore(acc[i][j], sums, plane * padded_rows + row, padded_rows, gl_CooperativeMatrixLayoutColumnMajor);
        }
}
