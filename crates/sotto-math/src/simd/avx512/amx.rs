//! The scan of many planes, by tiles of bytes (AMX): one instruction (`tdpbusd`) multiplies 16
//! planes by 16 rows of the matrix, over 64 columns.
//!
//! A tile register has 16 lines of 64 bytes. A panel is stored in the order of the instruction's
//! second factor, and [`arrange`] brings queries into that of its first:
//!
//! | tile | a line is | its 16 words of four bytes are |
//! |---|---|---|
//! | sums | a plane | sums of 16 rows |
//! | queries | a plane | its bytes of 16 groups of four columns |
//! | matrix | a group of columns | a group's bytes of 16 rows: one line of a panel |
//!
//! All 64 rows of a panel have their sums in registers, for 16 planes at a time. Tiles of 16 planes
//! take turns on a block of the panel that stays in the second-level cache, and the first of them
//! prefetches the next block: so memory is read once however many planes there are. A step of 16
//! groups are 4 KiB of the panel and four products of 16 cycles each (Intel's optimization manual,
//! chapter on AMX): at 2.5 GHz one core multiplies 160 planes, the queries of 32 bits of 40 clients,
//! while it reads 16 GB/s.

#[cfg(all(test, target_os = "linux"))]
pub(super) mod emulator;

use crate::simd::args::{GROUP_BYTES, PANEL_ROWS, Planes};
use crate::simd::generic::prefetch_second;
use crate::simd::scalar;
use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

/// Lines of a tile: planes, or groups of columns.
const LINES: usize = 16;
/// Words of four bytes of a tile.
const TILE_WORDS: usize = LINES * LINES;
/// Bytes of a panel that one step multiplies: four tiles.
const STEP: usize = LINES * GROUP_BYTES;
/// Bytes of a panel on which tiles of planes take turns. Two blocks fit the second-level cache,
/// which has 2 MiB.
const BLOCK: usize = 32 * STEP;
/// Number of planes up to which byte products in registers are as fast: they keep up with memory.
const FEW_PLANES: usize = 8;

/// The configuration of the tile registers, as the processor reads it: all have all lines.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_line: u8,
    reserved: [u8; 14],
    line_bytes: [u16; 16],
    lines: [u8; 16],
}

static WHOLE_TILES: TileConfig = TileConfig {
    palette: 1,
    start_line: 0,
    reserved: [0; 14],
    line_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    lines: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Whether the processor has tiles of bytes, the system lets this process use them, and they
/// multiply as scalar code does.
pub(super) fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        // SAFETY: a processor with AVX-512 has this leaf.
        #[allow(unused_unsafe, reason = "safe to call in newer versions of Rust")]
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        let (tiles, bytes) = (features >> 24 & 1, features >> 25 & 1);
        // SAFETY: the instructions are there, and the system has enabled them.
        tiles & bytes == 1 && request_tile_data() && unsafe { multiplies_like_scalar_code() }
    })
}

/// Asks the system to keep tile registers for the threads of this process: without it, the first
/// tile instruction is an illegal one.
#[cfg(target_os = "linux")]
fn request_tile_data() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: the call changes nothing but this permission, and only the named registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn request_tile_data() -> bool {
    false
}

/// Compares products of extreme bytes, over a part of a step, with those of scalar code.
///
/// # Safety
/// The tile instructions are there and enabled.
unsafe fn multiplies_like_scalar_code() -> bool {
    let groups: Vec<u8> = (0..37 * GROUP_BYTES).map(|i| (i * i + i / 7) as u8).collect();
    let dwords: Vec<u32> = (0..37 * 9u32).map(|i| i.wrapping_mul(0x9E37_79B9) ^ 0x80FF_7F00).collect();
    let queries = [Planes { dwords: &dwords, planes: 9 }];
    let (mut sums, mut expected) = ([1; 9 * PANEL_ROWS], [1; 9 * PANEL_ROWS]);
    scalar::scan(&groups, &queries, &mut expected);
    // SAFETY: as this function.
    unsafe { scan(&groups, &arrange(&queries), &mut sums) };
    sums == expected
}

/// Arranges planes in tiles of 16 planes by 16 groups of columns, zero beyond the last of either:
/// all tiles of the first 16 planes, then those of the next. Empty for so few planes that their scan
/// needs no tiles.
pub(super) fn arrange(queries: &[Planes<'_>]) -> Vec<u32> {
    let planes: usize = queries.iter().map(|query| query.planes).sum();
    let groups = queries.first().map_or(0, |query| query.dwords.len() / query.planes);
    if planes <= FEW_PLANES || groups == 0 {
        return Vec::new();
    }
    let steps = groups.div_ceil(LINES);
    let mut tiles = vec![0; planes.div_ceil(LINES) * steps * TILE_WORDS];
    let mut first = 0;
    for query in queries {
        for (g, dwords) in query.dwords.chunks_exact(query.planes).enumerate() {
            for (plane, dword) in (first..).zip(dwords) {
                let tile = plane / LINES * steps + g / LINES;
                tiles[tile * TILE_WORDS + plane % LINES * LINES + g % LINES] = *dword;
            }
        }
        first += query.planes;
    }
    tiles
}

/// Adds the products of a run of column groups with [arranged](arrange) planes.
///
/// # Safety
/// The tile instructions are there and enabled.
pub(super) unsafe fn scan(groups: &[u8], arranged: &[u32], sums: &mut [i32]) {
    let sums = sums.as_chunks_mut::<PANEL_ROWS>().0;
    let mut padded = vec![[[0; PANEL_ROWS]; LINES]; sums.len().div_ceil(LINES)];
    let steps = groups.len().div_ceil(STEP);
    let arranged = arranged.as_chunks::<TILE_WORDS>().0;
    // SAFETY: the instruction reads 64 bytes, and the caller vouches for it.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &WHOLE_TILES, options(nostack, readonly, preserves_flags)) };
    for (i, block) in groups.chunks(BLOCK).enumerate() {
        let first = i * (BLOCK / STEP);
        for (t, sums) in padded.iter_mut().enumerate() {
            let queries = &arranged[t * steps + first..(t + 1) * steps];
            // SAFETY: as this function.
            unsafe { multiply(block, queries, sums, t == 0) };
        }
    }
    // SAFETY: as for loading the configuration.
    unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    for (sums, products) in sums.iter_mut().zip(padded.as_flattened()) {
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum = sum.wrapping_add(*product);
        }
    }
}

/// Adds the products of a block with 16 planes, and prefetches what follows the block.
///
/// # Safety
/// The tile instructions are there, and the registers are configured.
unsafe fn multiply(
    block: &[u8],
    queries: &[[u32; TILE_WORDS]],
    sums: &mut [[i32; PANEL_ROWS]; LINES],
    is_fetching: bool,
) {
    let (whole, rest) = block.as_chunks::<STEP>();
    let mut last = [0; STEP];
    last[..rest.len()].copy_from_slice(rest);
    let last = if rest.is_empty() { &[] } else { core::slice::from_ref(&last) };
    let next = block.as_ptr_range().end;
    // SAFETY: the instructions read and write four tiles of sums, a line each 256 bytes, which is
    // all of `sums`; they read a tile of `queries`, a line each 64 bytes, and four of a step.
    unsafe {
        asm!(
            "tileloadd tmm0, [{sums} + {stride}]",
            "tileloadd tmm1, [{sums} + {stride} + 64]",
            "tileloadd tmm2, [{sums} + {stride} + 128]",
            "tileloadd tmm3, [{sums} + {stride} + 192]",
            sums = in(reg) sums.as_ptr(),
            stride = in(reg) PANEL_ROWS * 4,
            options(nostack, readonly, preserves_flags),
        );
        for (i, (step, query)) in whole.iter().chain(last).zip(queries).enumerate() {
            if is_fetching {
                for line in (0..STEP).step_by(64) {
                    prefetch_second(next.wrapping_add(i * STEP + line));
                }
            }
            asm!(
                "tileloadd tmm4, [{query} + {line}]",
                "tileloadd tmm5, [{step} + {group}]",
                "tdpbusd tmm0, tmm4, tmm5",
                "tileloadd tmm6, [{step} + {group} + 64]",
                "tdpbusd tmm1, tmm4, tmm6",
                "tileloadd tmm7, [{step} + {group} + 128]",
                "tdpbusd tmm2, tmm4, tmm7",
                "tileloadd tmm5, [{step} + {group} + 192]",
                "tdpbusd tmm3, tmm4, tmm5",
                query = in(reg) query.as_ptr(),
                line = in(reg) LINES * 4,
                step = in(reg) step.as_ptr(),
                group = in(reg) GROUP_BYTES,
                options(nostack, readonly, preserves_flags),
            );
        }
        asm!(
            "tilestored [{sums} + {stride}], tmm0",
            "tilestored [{sums} + {stride} + 64], tmm1",
            "tilestored [{sums} + {stride} + 128], tmm2",
            "tilestored [{sums} + {stride} + 192], tmm3",
            sums = in(reg) sums.as_mut_ptr(),
            stride = in(reg) PANEL_ROWS * 4,
            options(nostack, preserves_flags),
        );
    }
}
