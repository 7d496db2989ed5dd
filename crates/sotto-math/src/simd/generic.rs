//! Algorithms that are the same for every register width, each written once.
//!
//! A [`Register`] defines loads, stores and sums on registers of one kind. A value of an
//! implementing type proves that the processor has the instructions, so its methods are safe. All
//! functions here are `#[inline(always)]`: they become instructions inside the function around
//! them, which names the features by `#[target_feature]`. Those functions are a backend's own file
//! `generic`.
//!
//! | module | contents |
//! |---|---|
//! | `aes` | rounds, key schedules and paths down a tree, on registers of one or more blocks |
//! | `single` | AES over slices, one block per register |
//! | `dot` | rows of words times short vectors |
//! | `fold` | rows added to parities |
//! | `gather` | a row of each partition, added up in two halves |
//! | `read` | the checksum of a plain read |
//!
//! The rest is for registers of 32 bytes with arithmetic, or for pairs of 16 bytes that act as
//! such.
//!
//! | module | contents |
//! |---|---|
//! | `doubles` | numbers modulo a prime, in floating point |
//! | `ntt` | the transform: words of 32 bits, and doubles |
//! | `bytes` | the scan by four-byte products |
//! | `cyclic` | the convolution of length 8190 |
//! | `tiles` | the pass over tiles: pairs of words, and residues |
//! | `slots`, `digits` | arithmetic between slots, and between two moduli |

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
pub(super) mod aes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) mod bytes;
pub(super) mod cyclic;
pub(super) mod digits;
pub(super) mod dot;
pub(super) mod doubles;
pub(super) mod fold;
pub(super) mod gather;
pub(super) mod ntt;
pub(super) mod read;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) mod single;
pub(super) mod slots;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) mod tiles;

/// A kind of register. Its bytes are in the order of memory.
pub(super) trait Register: Copy {
    /// The contents of a register.
    type Value: Copy;
    /// Bytes of a register.
    const BYTES: usize;
    /// Number of registers that a kernel on two sums at a time may keep: half of the registers,
    /// less those for loads.
    const MAX: usize;

    /// A register of zeros.
    fn zero(self) -> Self::Value;

    /// Loads as many numbers as fill a register.
    ///
    /// # Panics
    /// If they are more or fewer.
    fn load<T: Number>(self, from: &[T]) -> Self::Value;

    /// Stores a register to as many numbers as fill it.
    ///
    /// # Panics
    /// If they are more or fewer.
    fn store<T: Number>(self, to: &mut [T], value: Self::Value);

    /// Computes the exclusive or.
    fn xor(self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Computes `sum xor x` if `bit` is 1 and `sum` if it is 0, without a branch.
    fn xor_if(self, bit: u8, sum: Self::Value, x: Self::Value) -> Self::Value;

    /// Computes the exclusive or of all 64-bit lanes.
    fn xor_lanes(self, x: Self::Value) -> u64 {
        let mut words = [0u64; 8];
        let words = &mut words[..Self::BYTES / 8];
        self.store(words, x);
        words.iter().fold(0, |sum, word| sum ^ word)
    }
}

/// A kind of register that also multiplies.
pub(super) trait Multiplier: Register {
    /// Repeats a 32-bit number in every lane.
    fn splat(self, x: i32) -> Self::Value;

    /// Adds the signed products of 32-bit lanes to the 64-bit lanes of the sums, half of them to
    /// each.
    fn add_products(self, sums: [Self::Value; 2], a: Self::Value, b: Self::Value) -> [Self::Value; 2];

    /// Sums all 64-bit lanes of both registers.
    fn sum_lanes(self, sums: [Self::Value; 2]) -> i64;
}

/// Prefetches the cache line at an address that need not be valid, where there is an instruction
/// for it.
#[inline(always)]
#[cfg_attr(target_arch = "wasm32", expect(unused_variables, reason = "WebAssembly has none"))]
pub(super) fn prefetch(at: *const u8) {
    // SAFETY: a prefetch is a hint; it never faults, whatever the address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    // SAFETY: as above; it changes neither memory nor flags.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
}

/// Prefetches into the second-level cache: processors have more such requests in flight at once
/// than for the first.
#[inline(always)]
#[cfg_attr(target_arch = "wasm32", expect(unused_variables, reason = "WebAssembly has none"))]
pub(super) fn prefetch_second(at: *const u8) {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T1 }>(at.cast());
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl2keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
}

/// Numbers for which every bit pattern is valid, or arrays of them.
pub(super) trait Number: Copy {}
impl Number for u8 {}
impl Number for i8 {}
impl Number for u16 {}
impl Number for i32 {}
impl Number for u32 {}
impl Number for i64 {}
impl Number for u64 {}
impl Number for f64 {}
impl<T: Number, const N: usize> Number for [T; N] {}

/// Implements [`Register`] by instructions. A value of `$name` must prove that the processor has
/// them.
macro_rules! register {
    (
        $name:ident of $bytes:literal bytes in $value:ty, $max:literal sums:
        $zero:ident, $load:ident, $store:ident, $xor:ident, |$bit:ident, $sum:ident, $x:ident| $xor_if:expr
    ) => {
        impl<P: Copy> Register for $name<P> {
            type Value = $value;
            const BYTES: usize = $bytes;
            const MAX: usize = $max;

            #[inline(always)]
            fn zero(self) -> $value {
                // SAFETY: self proves the features.
                unsafe { $zero() }
            }

            #[inline(always)]
            fn load<T: Number>(self, from: &[T]) -> $value {
                assert!(size_of_val(from) == $bytes, "a register's worth");
                // SAFETY: self proves the features; the slice has the bytes that this reads, and it needs no alignment.
                unsafe { $load(from.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store<T: Number>(self, to: &mut [T], value: $value) {
                assert!(size_of_val(to) == $bytes, "a register's worth");
                // SAFETY: self proves the features; the slice has the bytes that this writes, of numbers for which every
                // pattern is valid, and it needs no alignment.
                unsafe { $store(to.as_mut_ptr().cast(), value) }
            }

            #[inline(always)]
            fn xor(self, a: $value, b: $value) -> $value {
                // SAFETY: self proves the features.
                unsafe { $xor(a, b) }
            }

            #[inline(always)]
            fn xor_if(self, $bit: u8, $sum: $value, $x: $value) -> $value {
                // SAFETY: self proves the features.
                unsafe { $xor_if }
            }
        }
    };
}

/// Implements [`Multiplier`] by instructions, in addition to [`Register`].
macro_rules! multiplier {
    (
        $name:ident: $splat:expr,
        |[$even:ident, $odd:ident], $a:ident, $b:ident| $add_products:expr,
        |[$first:ident, $second:ident]| $sum_lanes:expr
    ) => {
        impl Multiplier for $name {
            #[inline(always)]
            fn splat(self, x: i32) -> Self::Value {
                // SAFETY: self proves the features.
                unsafe { $splat(x) }
            }

            #[inline(always)]
            fn add_products(
                self,
                [$even, $odd]: [Self::Value; 2],
                $a: Self::Value,
                $b: Self::Value,
            ) -> [Self::Value; 2] {
                // SAFETY: self proves the features.
                unsafe { $add_products }
            }

            #[inline(always)]
            fn sum_lanes(self, [$first, $second]: [Self::Value; 2]) -> i64 {
                // SAFETY: self proves the features.
                unsafe { $sum_lanes }
            }
        }
    };
}

/// Methods of a value that proves that the processor has the instructions.
macro_rules! proven {
    ($(fn $name:ident$(<const $n:ident: $of:ty>)?($($arg:ident: $type:ty),*) -> $out:ty { $body:expr })*) => {$(
        #[inline(always)]
        fn $name$(<const $n: $of>)?(self, $($arg: $type),*) -> $out {
            // SAFETY: self proves the features.
            unsafe { $body }
        }
    )*};
}

/// Applies an instruction to each of two registers.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! each {
    ($f:ident($($x:expr),*)) => {
        [$f($($x[0]),*), $f($($x[1]),*)]
    };
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use each;
pub(super) use {multiplier, proven, register};

/// A register of one word, which every processor has.
#[derive(Clone, Copy)]
pub(super) struct Word;

impl Register for Word {
    type Value = u64;
    const BYTES: usize = 8;
    const MAX: usize = 1;

    #[inline(always)]
    fn zero(self) -> u64 {
        0
    }

    #[inline(always)]
    fn load<T: Number>(self, from: &[T]) -> u64 {
        assert!(size_of_val(from) == 8, "a register's worth");
        // SAFETY: these are eight bytes of numbers, and the read needs no alignment.
        unsafe { from.as_ptr().cast::<u64>().read_unaligned() }
    }

    #[inline(always)]
    fn store<T: Number>(self, to: &mut [T], value: u64) {
        assert!(size_of_val(to) == 8, "a register's worth");
        // SAFETY: these are eight bytes of numbers, for which every pattern is valid, and the write needs no alignment.
        unsafe { to.as_mut_ptr().cast::<u64>().write_unaligned(value) }
    }

    #[inline(always)]
    fn xor(self, a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn xor_if(self, bit: u8, sum: u64, x: u64) -> u64 {
        sum ^ (x & 0u64.wrapping_sub(u64::from(bit)))
    }
}
