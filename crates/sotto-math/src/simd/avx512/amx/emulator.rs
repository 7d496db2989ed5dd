//! An emulator of the tile instructions that the scan uses, so that its very machine code is tested
//! on processors without them: a handler of the signal that an illegal instruction raises.
//!
//! It knows the encodings and operations of Intel's manual (volume 2, `TDPBUSD`, `TILELOADD`,
//! `TILESTORED`, `LDTILECFG`, `TILERELEASE`), whole tiles alone, and nothing else: any other
//! instruction ends the process, as it would without the handler.

use super::{LINES, TileConfig, WHOLE_TILES};
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::sync::Once;

type Tile = [u8; LINES * 64];

thread_local! {
    /// The tile registers of a thread; `None` as long as they are not configured. Neither a
    /// destructor nor an allocation, so that a signal's handler may use it.
    static TILES: UnsafeCell<Option<[Tile; 8]>> = const { UnsafeCell::new(None) };

    /// Number of products that this thread has emulated.
    static PRODUCTS: Cell<usize> = const { Cell::new(0) };
}

/// Emulates tile instructions from now on.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: an all-zero action is a valid one, and the handler has the type that its flag
        // promises.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut()), 0);
        }
    });
}

extern "C" fn handle(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the context of the thread that the signal interrupted, whose
    // program counter is at an instruction; no other code of this thread runs meanwhile.
    unsafe {
        let registers = &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs;
        let code = registers[libc::REG_RIP as usize] as *const u8;
        match TILES.with(|tiles| emulate(code, registers, &mut *tiles.get())) {
            Some(length) => registers[libc::REG_RIP as usize] += length,
            None => {
                libc::signal(libc::SIGILL, libc::SIG_DFL);
            }
        }
    }
}

/// Executes a tile instruction, and returns its length.
///
/// # Safety
/// There is an instruction, and its operands in memory are readable and writable.
unsafe fn emulate(code: *const u8, registers: &[i64], tiles: &mut Option<[Tile; 8]>) -> Option<i64> {
    // SAFETY: every instruction that is emulated has at least five bytes.
    let [vex, first, second, opcode, operands] = unsafe { *code.cast::<[u8; 5]>() };
    // A prefix of three bytes, for the second map of opcodes and vectors of 128 bits. Bits of
    // register numbers are inverted in it.
    if vex != 0xC4 || first & 0x9F != 0x82 || second & 0x84 != 0 {
        return None;
    }
    let vector = usize::from(!second >> 3 & 15);
    let (prefix, form) = (second & 3, operands >> 6);
    let (register, other) = (usize::from(operands >> 3 & 7), usize::from(operands & 7));
    // SAFETY: as this function.
    let memory = || unsafe { Memory::decode(code, first, registers) };
    match (opcode, prefix, form) {
        (0x49, 0, 3) if operands == 0xC0 => {
            *tiles = None;
            Some(5)
        }
        (0x49, 0, 0..=2) if register == 0 => {
            let memory = memory();
            // SAFETY: the instruction reads 64 bytes.
            let config = unsafe { *(memory.base as *const [u8; 64]) };
            // SAFETY: a configuration has 64 bytes without padding.
            let whole: [u8; 64] = unsafe { mem::transmute_copy::<TileConfig, _>(&WHOLE_TILES) };
            *tiles = (config == whole).then_some([[0; LINES * 64]; 8]);
            tiles.is_some().then_some(memory.length)
        }
        (0x4B, 2 | 3, 0..=2) if other == 4 => {
            let (memory, tile) = (memory(), &mut tiles.as_mut()?[register]);
            for (i, line) in tile.as_chunks_mut::<64>().0.iter_mut().enumerate() {
                let place = (memory.base + i as i64 * memory.index) as *mut [u8; 64];
                // SAFETY: the instruction reads or writes 64 bytes there.
                unsafe { if prefix == 3 { *line = *place } else { *place = *line } };
            }
            Some(memory.length)
        }
        (0x5E, 1, 3) => {
            let tiles = tiles.as_mut()?;
            let (unsigned, signed) = (tiles[other], tiles[vector]);
            for (m, sums) in tiles[register].as_chunks_mut::<64>().0.iter_mut().enumerate() {
                for (n, sum) in sums.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    let mut total = i32::from_le_bytes(*sum);
                    for k in 0..LINES {
                        for i in 0..4 {
                            let a = i32::from(unsigned[m * 64 + k * 4 + i]);
                            let b = i32::from(signed[k * 64 + n * 4 + i] as i8);
                            total = total.wrapping_add(a * b);
                        }
                    }
                    *sum = total.to_le_bytes();
                }
            }
            PRODUCTS.set(PRODUCTS.get() + 1);
            Some(5)
        }
        _ => None,
    }
}

/// An operand in memory.
struct Memory {
    /// The sum of the base register and the displacement.
    base: i64,
    /// The scaled index register, which is a tile's stride.
    index: i64,
    /// Bytes of the whole instruction.
    length: i64,
}

impl Memory {
    /// Decodes the operand after a prefix of three bytes and an opcode.
    ///
    /// # Safety
    /// There is an instruction with such an operand.
    unsafe fn decode(code: *const u8, prefix: u8, registers: &[i64]) -> Memory {
        // SAFETY: as this function.
        let byte = |at: usize| unsafe { *code.add(at) };
        let (form, low) = (byte(4) >> 6, byte(4) & 7);
        let (mut at, mut base, mut index) = (5, low, None);
        if low == 4 {
            base = byte(5) & 7;
            index = Some((byte(5) >> 3 & 7 | (!prefix >> 6 & 1) << 3, byte(5) >> 6));
            at += 1;
        }
        let displacement = match form {
            1 => i64::from(byte(at) as i8),
            2 => i64::from(i32::from_le_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)])),
            _ => 0,
        };
        at += [0, 1, 4, 0][usize::from(form)];
        let value = |number: u8| registers[REGISTERS[usize::from(number)] as usize];
        // Register 4 as an index is none.
        let scaled = |(number, scale): (u8, u8)| if number == 4 { 0 } else { value(number) << scale };
        Memory {
            base: value(base | (!prefix >> 5 & 1) << 3) + displacement,
            index: index.map_or(0, scaled),
            length: at as i64,
        }
    }
}

/// Places of registers in a context, in the order of their numbers in instructions.
const REGISTERS: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Three panels of 40 groups times 17 planes: three steps, the last of half a tile, and two tiles of
/// planes.
#[test]
fn many_planes_are_multiplied_by_tiles_and_few_are_not() {
    use crate::matrix::{PanelLayout, QueryPlanes, scan};
    use crate::simd::shapes::SCAN;
    let Some(kernels) = crate::simd::emulated() else { return };
    let layout = PanelLayout::new(150, 160);
    let query = QueryPlanes::from_u64(&[u64::MAX; 160], 8, &layout);
    let single = QueryPlanes::from_u64(&[u64::MAX; 160], 1, &layout);
    let count = |queries: &[&QueryPlanes]| {
        let before = PRODUCTS.get();
        let mut sums: Vec<Vec<i64>> = queries.iter().map(|query| vec![0; 192 * query.planes()]).collect();
        let mut out: Vec<&mut [i64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
        scan::scan_planes_with(kernels, &SCAN[0].1, &vec![1; layout.bytes()], &layout, queries, &mut out);
        assert!(sums.iter().flatten().all(|sum| *sum == 255 * 160));
        PRODUCTS.get() - before
    };
    assert_eq!(count(&[&query, &query, &single]), 3 * 3 * 2 * 4);
    assert_eq!(count(&[&query]), 0);
}
