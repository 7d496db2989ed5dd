//! The products of every kernel of every card, compared with the processor's.
#![allow(clippy::unwrap_used, reason = "a failed check fails its test")]

use sotto_core::PassQuery;
use sotto_gpu::{ByteMatrix, Card, Gpu, GpuError, MemorySpeed};
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use std::sync::{Arc, OnceLock};

/// All cards, opened once, since compiling takes a while. At least a driver of software is needed.
fn cards() -> &'static [Arc<Gpu>] {
    static CARDS: OnceLock<Vec<Arc<Gpu>>> = OnceLock::new();
    CARDS.get_or_init(|| {
        let open = |card: &Card| {
            println!("{card}");
            Arc::new(card.open().unwrap())
        };
        let cards: Vec<Arc<Gpu>> = Card::find().iter().map(open).collect();
        assert!(!cards.is_empty(), "no driver: apt-get install mesa-vulkan-drivers");
        cards
    })
}

/// Numbers that look random: the 64-bit mixer of splitmix.
fn mix(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn views(queries: &[QueryPlanes]) -> Vec<PassQuery<'_>> {
    queries.iter().map(|query| PassQuery { planes: query.planes(), words: query.words() }).collect()
}

struct Case {
    layout: PanelLayout,
    table: Vec<u8>,
}

impl Case {
    fn new(rows: usize, cols: usize, byte: impl Fn(u64) -> u8) -> Self {
        let layout = PanelLayout::new(rows, cols);
        let mut table = vec![0; layout.bytes()];
        for row in 0..rows {
            for col in 0..cols {
                table[layout.offset(row, col)] = byte((row * cols + col) as u64);
            }
        }
        Case { layout, table }
    }

    fn queries(&self, planes: &[usize], word: impl Fn(u64) -> u64) -> Vec<QueryPlanes> {
        let words = |query: u64| {
            (0..self.layout.cols() as u64).map(|col| word(query << 32 | col)).collect::<Vec<_>>()
        };
        planes.iter().zip(0..).map(|(k, i)| QueryPlanes::from_u64(&words(i), *k, &self.layout)).collect()
    }

    /// The matrix on a card, in buffers of some panels, written in two parts.
    fn on(&self, gpu: &Arc<Gpu>, panels: usize) -> ByteMatrix {
        let panel = self.layout.padded_cols().next_multiple_of(64) * 64;
        let matrix = ByteMatrix::in_buffers(Arc::clone(gpu), self.layout, (panels * panel) as u64).unwrap();
        let first = self.layout.panels() / 3;
        let (before, after) = self.table.split_at(first * self.layout.panel_bytes());
        matrix.write(0, before).unwrap();
        matrix.write(first, after).unwrap();
        matrix
    }

    /// Compares every kernel of every card with the processor, and the one that is chosen.
    fn check(&self, batches: &[Vec<usize>], word: impl Fn(u64) -> u64 + Copy) {
        let rows = self.layout.padded_rows();
        let expected: Vec<_> = batches
            .iter()
            .map(|planes| {
                let queries = self.queries(planes, word);
                let views: Vec<&QueryPlanes> = queries.iter().collect();
                let mut words = vec![vec![0; rows]; planes.len()];
                let mut out: Vec<&mut [u32]> = words.iter_mut().map(Vec::as_mut_slice).collect();
                scan_u32(&self.table, &self.layout, &views, &mut out);
                let mut sums: Vec<Vec<i64>> = planes.iter().map(|k| vec![0; rows * k]).collect();
                let mut out: Vec<&mut [i64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                scan_planes(&self.table, &self.layout, &views, &mut out);
                (queries, words, sums)
            })
            .collect();
        for gpu in cards() {
            for panels in [1, 3, 100] {
                let matrix = self.on(gpu, panels);
                assert!(matrix.card_bytes() >= self.table.len() as u64);
                for kernel in (0..gpu.kernels().len()).map(Some).chain([None]) {
                    for (queries, words, sums) in &expected {
                        let planes: Vec<usize> = queries.iter().map(QueryPlanes::planes).collect();
                        let queries = views(queries);
                        let context = format!("{:?} {planes:?} {kernel:?} {panels}", self.layout);
                        assert!(matrix.times_u32_with(kernel, &queries).unwrap() == *words, "{context}");
                        assert!(matrix.times_planes_with(kernel, &queries).unwrap() == *sums, "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn awkward_sizes() {
    for rows in [1, 63, 64, 65, 129, 200] {
        for cols in [1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 257] {
            Case::new(rows, cols, |i| mix(i) as u8).check(&[vec![4], vec![3, 8]], |i| mix(i + 99));
        }
    }
}

#[test]
fn every_number_of_queries() {
    let case = Case::new(70, 300, |i| mix(i) as u8);
    let batches: Vec<Vec<usize>> = (1..=33).map(|queries| vec![4; queries]).collect();
    case.check(&batches, mix);
    case.check(&[(1..=8).collect(), vec![7; 5], vec![1; 40]], mix);
}

#[test]
fn more_planes_than_a_pass_has() {
    Case::new(64, 20, |i| mix(i) as u8).check(&[vec![8; 70]], mix);
}

#[test]
fn extreme_values_and_sums_beyond_a_segment() {
    for (byte, word) in [(0x80, u64::MAX), (0x7F, u64::MAX), (0xFF, u64::MAX), (0x80, 0)] {
        for cols in [256, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, (1 << 17) + 70] {
            Case::new(3, cols, |_| byte).check(&[vec![4], vec![8, 7, 2]], |_| word);
        }
    }
}

#[test]
fn splits_of_long_rows() {
    Case::new(130, 20_000, |i| mix(i) as u8).check(&[vec![4], vec![4; 9]], mix);
}

/// Columns that do not travel to the card at once.
#[test]
fn wide_panels() {
    Case::new(1, 600_000, |i| mix(i) as u8).check(&[vec![4]], mix);
}

#[test]
fn nothing_is_no_work() {
    for gpu in cards() {
        for (rows, cols) in [(64, 0), (0, 8)] {
            let layout = PanelLayout::new(rows, cols);
            let matrix = ByteMatrix::new(Arc::clone(gpu), layout).unwrap();
            matrix.write(0, &[]).unwrap();
            let queries = [QueryPlanes::from_u32(&vec![7; cols], 4, &layout)];
            assert_eq!(matrix.times_u32(&views(&queries)).unwrap(), [vec![0; rows]]);
            assert_eq!(matrix.times_planes(&views(&queries)).unwrap(), [vec![0; 4 * rows]]);
        }
        let matrix = ByteMatrix::new(Arc::clone(gpu), PanelLayout::new(64, 8)).unwrap();
        assert_eq!(matrix.times_u32(&[]).unwrap(), Vec::<Vec<u32>>::new());
    }
}

#[test]
fn what_does_not_belong_to_the_table_is_refused() {
    for gpu in cards() {
        let layout = PanelLayout::new(128, 8);
        let matrix = ByteMatrix::new(Arc::clone(gpu), layout).unwrap();
        let panels = GpuError::Panels { panel: 512, got: 511 };
        assert_eq!(matrix.write(0, &[0; 511]), Err(panels));
        assert_eq!(matrix.write(1, &[0; 1024]), Err(GpuError::Panels { panel: 512, got: 1024 }));
        let others = [QueryPlanes::from_u32(&[1; 9], 4, &PanelLayout::new(128, 9))];
        assert_eq!(matrix.times_u32(&views(&others)), Err(GpuError::ForeignQuery { want: 2, got: 3 }));
        let wide = ByteMatrix::in_buffers(Arc::clone(gpu), layout, 1000);
        assert_eq!(wide.err(), Some(GpuError::WideTable { panel: 4096, buffer: 1000 }));
    }
}

#[test]
fn tables_take_no_more_memory_than_they_may() {
    let gpu = Arc::new(Card::find().first().unwrap().open().unwrap().with_table_bytes(Some(10_000)));
    let layout = PanelLayout::new(64, 64);
    let [first, second] = [(); 2].map(|()| ByteMatrix::new(Arc::clone(&gpu), layout).unwrap());
    assert_eq!(gpu.table_bytes(), first.card_bytes() + second.card_bytes());
    let full = ByteMatrix::new(Arc::clone(&gpu), layout).err();
    assert_eq!(full, Some(GpuError::Memory { want: 4096, left: 10_000 - 8192 }));
    drop(first);
    assert_eq!(gpu.table_bytes(), 4096);
    let third = ByteMatrix::new(Arc::clone(&gpu), layout).unwrap();
    drop((second, third));
    assert_eq!(gpu.table_bytes(), 0);
}

/// A new epoch is written while the old one answers, and either gives its own products.
#[test]
fn epochs_side_by_side() {
    for gpu in cards() {
        let cases = [1, 2].map(|epoch| Case::new(300, 500, |i| mix(i << 8 | epoch) as u8));
        let queries = cases[0].queries(&[4, 4], mix);
        let views = views(&queries);
        let old = cases[0].on(gpu, 100);
        let before = old.times_u32(&views).unwrap();
        let new = std::thread::scope(|scope| {
            let new = scope.spawn(|| cases[1].on(gpu, 100));
            for _ in 0..5 {
                assert_eq!(old.times_u32(&views).unwrap(), before);
            }
            new.join().unwrap()
        });
        assert_ne!(new.times_u32(&views).unwrap(), before);
        assert_eq!(old.times_u32(&views).unwrap(), before);
    }
}

#[test]
fn memory_is_read_in_some_time() {
    for gpu in cards() {
        let speed = MemorySpeed::measure(gpu, 1 << 20).unwrap();
        assert_eq!(speed.bytes, 1 << 20);
        assert!(!speed.read.is_zero() && !speed.copy.is_zero());
    }
}
