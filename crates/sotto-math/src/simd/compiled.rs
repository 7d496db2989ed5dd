//! Macros that make a backend's kernels its methods: each kernel is a function with
//! `#[target_feature]`, and the backend, which only a probe makes, proves that the processor has
//! the features.

/// Methods that call functions of the backend's modules.
macro_rules! compiled {
    ($($module:ident::$kernel:ident as $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {$(
        fn $name(&self, $($arg: $type),*) $(-> $out)? {
            // SAFETY: self proves the features.
            unsafe { $module::$kernel($($arg),*) }
        }
    )*};
}

/// The methods for which every vector backend has a function of its own.
macro_rules! compiled_by_all {
    () => {
        compiled! {
            ntt::forward as ntt_forward(t: &Tables, x: &mut [u64]);
            ntt::inverse as ntt_inverse(t: &Tables, x: &mut [u64]);
            ntt::forward_i8 as ntt_forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]);
            tiles::tiles as tiles(shape: &TilesShape, form: &WordFormat, block: Block<'_>, sums: &mut [&mut [[u64; 8]]]);
            compare::gauss as gauss(thresholds: &[u64], uniform: &[u64], out: &mut [i32]);
            compare::tally as tally(values: &[u8], x: u8, equal: &mut [u64]) -> [usize; 2];
            compare::compare as compare(values: &[[u8; 16]], bounds: &[u8], less: &mut [u16], equal: &mut [u16]);
            generic::affine as affine(factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]);
            generic::read as read(bytes: &[u8]) -> u64;
            generic::dot as dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]);
            generic::gather as gather(rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]);
            generic::add_rows as add_rows(from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]);
            slots::add as add(t: &Tables, x: &mut [u64], y: &[u64]);
            slots::sub as sub(t: &Tables, x: &mut [u64], y: &[u64]);
            slots::mul as mul(t: &Tables, x: &mut [u64], y: &[u64]);
            slots::split as split(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]);
            slots::sum_of_products as
                sum_of_products(t: &Tables, a: &[&[u64]], b: &[&[u64]], add: bool, out: &mut [u64]);
            digits::decompose as decompose(d: &GadgetDigits, x: &[u64], out: &mut [u64]);
            digits::centered as centered(p: &ModulusPair, x: &[u64], out: &mut [u64]);
            digits::carried as carried(p: &ModulusPair, x: &[u64], out: &mut [u64]);
            digits::lower as lower(p: &ModulusPair, x: &mut [u64], correction: &[u64]);
        }
    };
}

/// The methods that the backends of [`compiled_32!`] have beside those of all.
macro_rules! compiled_by_generic {
    () => {
        compiled! {
            cyclic::cyclic as cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells);
            slots::mul_acc as mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]);
        }
    };
}

/// One implementation of [`Kernels`](super::Kernels) for two backends that differ in the scan
/// alone.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! compiled_kernels {
    ($backend:ident, $name:literal, $scan:path, $aes:path) => {
        impl Kernels for $backend {
            fn name(&self) -> &'static str {
                $name
            }

            fn scan(&self, _: &ScanShape, groups: &[u8], queries: &[Planes<'_>], sums: &mut [i32]) {
                // SAFETY: self proves the features.
                unsafe { $scan(groups, queries, sums) }
            }

            fn select(
                &self,
                _: &SelectShape,
                blocks: &[[u8; 64]],
                queries: usize,
                selections: &[SelectionMatrices],
                sums: &mut [[u8; 64]],
            ) {
                // SAFETY: self proves the features.
                unsafe { select::select(blocks, queries, selections, sums) }
            }

            compiled_by_all!();
            compiled_by_generic!();

            fn aes(&self) -> &'static dyn Blocks {
                <$aes>::probe().unwrap_or(&scalar::ScalarAes)
            }
        }
    };
}

/// AES by functions of the surrounding module, named like the methods.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! compiled_aes {
    ($backend:ty) => {
        impl Blocks for $backend {
            fn grid(&self, key: &Aes, from: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
                // SAFETY: self proves the features.
                unsafe { grid(key, from, ny, out) }
            }

            fn mmo(&self, key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
                // SAFETY: self proves the features.
                unsafe { mmo(key, input, out) }
            }

            fn double(&self, keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
                // SAFETY: self proves the features.
                unsafe { double(keys, seeds, out) }
            }

            fn widen(&self, key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
                // SAFETY: self proves the features.
                unsafe { widen(key, seeds, out) }
            }

            fn descend(&self, keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
                // SAFETY: self proves the features.
                unsafe { descend(keys, turns, seeds) }
            }

            fn find(&self, key: &Aes, from: [u64; 2], tags: &[u16], needle: Needle, hits: &mut [u64]) {
                // SAFETY: self proves the features.
                unsafe { find(key, from, tags, needle, hits) }
            }
        }
    };
}

/// The [generic](super::generic) kernels, compiled with features that the registers prove.
macro_rules! compiled_generic {
    ($features:literal, $whole:expr, $half:expr, $quarter:expr) => {
        #[target_feature(enable = $features)]
        pub(super) fn affine(factors: &[u32], terms: &[u32], x: u32, out: &mut [u32]) {
            scalar::affine(factors, terms, x, out);
        }

        #[target_feature(enable = $features)]
        pub(super) fn read(bytes: &[u8]) -> u64 {
            generic::read::read($whole, bytes)
        }

        #[target_feature(enable = $features)]
        pub(super) fn dot(h: &[u32], n: usize, s: &[&[i32]], y: &mut [&mut [i64]]) {
            generic::dot::dot($whole, h, n, s, y);
        }

        #[target_feature(enable = $features)]
        pub(super) fn gather(rows: PartitionRows<'_>, picks: RowPicks<'_>, parities: [&mut [u8]; 2]) {
            generic::gather::gather($whole, $half, $quarter, rows, picks, parities);
        }

        #[target_feature(enable = $features)]
        pub(super) fn add_rows(from: RowSources<'_>, places: &[[u32; LANES]], parities: &mut [u8]) {
            generic::fold::add_rows($whole, $half, $quarter, from, places, parities);
        }
    };
}

/// [AES with one block per register](super::generic::single), compiled with features that the
/// registers prove, and a search by `either16` of the surrounding module.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! compiled_single {
    ($features:literal, $r:expr) => {
        #[target_feature(enable = $features)]
        fn grid(key: &Aes, [x, y]: [u64; 2], ny: u64, out: &mut [[u8; 16]]) {
            encrypt_pairs(key, Pairs { x, b: 0, y, ny }, out);
        }

        #[target_feature(enable = $features)]
        pub(in crate::simd) fn encrypt_pairs(key: &Aes, pairs: Pairs, out: &mut [[u8; 16]]) {
            generic::single::encrypt_pairs($r, key, pairs, out);
        }

        #[target_feature(enable = $features)]
        pub(in crate::simd) fn mmo(key: &Aes, input: &[[u8; 16]], out: &mut [[u8; 16]]) {
            generic::single::mmo($r, key, input, out);
        }

        #[target_feature(enable = $features)]
        pub(in crate::simd) fn double(keys: [&Aes; 2], seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
            generic::single::double($r, keys, seeds, out);
        }

        #[target_feature(enable = $features)]
        pub(in crate::simd) fn widen(key: &Aes, seeds: &[[u8; 16]], out: &mut [[u8; 16]]) {
            generic::single::widen($r, key, seeds, out);
        }

        #[target_feature(enable = $features)]
        pub(in crate::simd) fn descend(keys: &[[u8; 16]], turns: &[u8], seeds: &mut [[u8; 16]]) {
            generic::single::descend($r, keys, turns, seeds);
        }

        /// Searches blocks that are computed first, and stay in the nearest cache.
        #[target_feature(enable = $features)]
        fn find(key: &Aes, [x, y]: [u64; 2], tags: &[u16], needle: Needle, hits: &mut [u64]) {
            let mut made = Zeroizing::new([[0; 16]; PART / 8]);
            let made = &mut made[..tags.len().div_ceil(8)];
            encrypt_pairs(key, Pairs { x, b: 0, y, ny: u64::MAX }, made);
            either16(&made.as_flattened().as_chunks().0[..tags.len()], tags, needle, hits);
        }
    };
}

/// The generic kernels of registers of 32 bytes with arithmetic, in modules of the names that
/// [`compiled_by_all!`] calls.
macro_rules! compiled_32 {
    ($features:literal, $r:expr) => {
        pub(super) mod ntt {
            use super::*;

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn forward(t: &Tables, x: &mut [u64]) {
                generic::ntt::forward($r, t, x);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn inverse(t: &Tables, x: &mut [u64]) {
                generic::ntt::inverse($r, t, x);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn forward_i8(t: &Tables, bytes: &[i8], out: &mut [u64]) {
                scalar::spread(t, bytes, out);
                forward(t, out);
            }
        }

        pub(super) mod cyclic {
            use super::*;

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn cyclic(g: &Grid, spectrum: &Spectrum, cells: &mut Cells) {
                generic::cyclic::cyclic($r, g, spectrum, cells);
            }
        }

        pub(super) mod slots {
            use super::*;

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn add(t: &Tables, x: &mut [u64], y: &[u64]) {
                scalar::add(t, x, y);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn sub(t: &Tables, x: &mut [u64], y: &[u64]) {
                scalar::sub(t, x, y);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn mul(t: &Tables, x: &mut [u64], y: &[u64]) {
                generic::slots::mul($r, t, x, y);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn mul_acc(t: &Tables, acc: &mut [u64], a: &[u64], b: &[u64]) {
                generic::slots::mul_acc($r, t, acc, a, b);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn split(t: &Tables, c: &mut [u64], s: &[u64], m: &[u64], odd: &mut [u64]) {
                generic::slots::split($r, t, c, s, m, odd);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn sum_of_products(
                t: &Tables,
                a: &[&[u64]],
                b: &[&[u64]],
                add: bool,
                out: &mut [u64],
            ) {
                generic::slots::sum_of_products($r, t, a, b, add, out);
            }
        }

        pub(super) mod digits {
            use super::*;

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn decompose(d: &GadgetDigits, x: &[u64], out: &mut [u64]) {
                generic::digits::decompose(d, x, out);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn centered(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
                generic::digits::centered($r, p, x, out);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn carried(p: &ModulusPair, x: &[u64], out: &mut [u64]) {
                generic::digits::carried($r, p, x, out);
            }

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn lower(p: &ModulusPair, x: &mut [u64], correction: &[u64]) {
                generic::digits::lower($r, p, x, correction);
            }
        }
    };
}

/// The pass over tiles in registers of 32 bytes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! compiled_tiles {
    ($features:literal, $r:expr) => {
        pub(super) mod tiles {
            use super::*;

            #[target_feature(enable = $features)]
            pub(in crate::simd) fn tiles(
                _: &TilesShape,
                form: &WordFormat,
                block: Block<'_>,
                sums: &mut [&mut [[u64; 8]]],
            ) {
                generic::tiles::tiles($r, form, block, sums);
            }
        }
    };
}
