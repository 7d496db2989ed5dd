//! Section "Where records lie", and the plaintexts of a query.

use serde_json::Value;

/// A ring of the specification's table: name, n, t, bits of data, primes.
type Ring = (&'static str, usize, u64, usize, &'static [u64]);

/// The two primes of 50 bits that slots have, and a third one; those that coefficients have.
const SLOTS: [u64; 3] = [1125889168998401, 1125874136383489, 1125818300956673];
const WIDE: [u64; 2] = [1125899904679937, 1125899903991809];
const NARROW: [u64; 3] = [34359697409, 34359451649, 68719403009];

const RINGS: [Ring; 5] = [
    ("n4096-t65537-q50", 4096, 65537, 16, SLOTS.split_at(2).0),
    ("n8192-t65537-q100", 8192, 65537, 16, &SLOTS),
    ("n4096-t2^14-q50", 4096, 1 << 14, 14, &WIDE),
    ("n4096-t2^12-q50", 4096, 1 << 12, 12, &WIDE),
    ("n4096-t2^10-q70", 4096, 1 << 10, 10, &NARROW),
];

/// The ring of a name.
pub(crate) fn ring(name: &str) -> Ring {
    RINGS.into_iter().find(|ring| ring.0 == name).unwrap()
}

/// The numbers of a literal, and what the specification derives from them.
pub(crate) struct Places {
    scheme: String,
    pub(crate) n: usize,
    pub(crate) bits: usize,
    pub(crate) slots: bool,
    pub(crate) buckets: usize,
    pub(crate) each: u64,
    pub(crate) words: usize,
    split: usize,
    rows: u64,
    pub(crate) merged: usize,
    pub(crate) queries: usize,
    lanes: usize,
    positions: u64,
    pub(crate) blocks: u64,
    pub(crate) width: usize,
}

impl Places {
    pub(crate) fn new(scheme: &str, params: &Value) -> Self {
        let of = |field: &str| params[field].as_u64().unwrap();
        let [buckets, words, split] = ["buckets", "record_words", "split"].map(|field| of(field) as usize);
        let (_, n, t, bits, _) = ring(params["ring"].as_str().unwrap());
        let (slots, each, rows) = (t == 65537, of("records") / buckets as u64, of("rows"));
        let lanes = if slots { (buckets * split).next_power_of_two() } else { 1 };
        let (positions, blocks, width) = match slots {
            true => (n / lanes, 1, words.div_ceil(split)),
            false => (1, each.div_ceil(rows), words.div_ceil(n)),
        };
        Places {
            scheme: scheme.to_owned(),
            n,
            bits,
            slots,
            buckets,
            each,
            words,
            split,
            rows,
            merged: of("merged") as usize,
            queries: of("queries") as usize,
            lanes,
            positions: positions as u64,
            blocks,
            width,
        }
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.words * self.bits / 8
    }

    /// g, by which a rotation moves slots.
    pub(crate) fn gap(&self) -> usize {
        (self.lanes / 2).max(1)
    }

    fn turns(&self) -> u64 {
        (self.n / 2 / self.gap()) as u64
    }

    /// The row, the block and the position of a place.
    fn place(&self, i: u64) -> (u64, u64, u64) {
        match self.slots {
            true => (i / self.positions, 0, i % self.positions),
            false => (i % self.rows, i / self.rows, 0),
        }
    }

    fn slot(&self, lane: usize, position: u64) -> usize {
        let g = self.gap();
        lane / g * self.n / 2 + position as usize * g + lane % g
    }

    fn turned(&self, position: u64, by: u64) -> u64 {
        let turns = self.turns();
        position / turns * turns + (position + turns - by % turns) % turns
    }

    /// The answer, and the slot in it, of number k of the record at a place.
    pub(crate) fn answered(&self, bucket: usize, i: u64, k: usize) -> (usize, usize) {
        let (column, lane) = (k % self.width, bucket * self.split + k / self.width);
        let position = self.turned(self.place(i).2, (column % self.merged) as u64);
        (column / self.merged, self.slot(lane, position))
    }

    /// The index of a record's whitening stream.
    pub(crate) fn masked(&self, bucket: usize, i: u64) -> u64 {
        bucket as u64 * self.rows * self.blocks * self.positions + i
    }

    /// S and c of sealpir.
    fn selectors(&self) -> (usize, usize) {
        let blocks = if self.blocks > 1 { self.blocks } else { 0 };
        let all = self.buckets * (self.rows + blocks) as usize;
        (all, all.div_ceil(self.queries))
    }

    /// Rounds of expansion.
    pub(crate) fn rounds(&self) -> u32 {
        if self.slots { 0 } else { self.selectors().1.next_power_of_two().trailing_zeros() }
    }

    /// The numbers of the plaintexts of a query for these places.
    pub(crate) fn asked(&self, places: &[u64]) -> Vec<Vec<u64>> {
        if !self.slots {
            let one_hot = |count: u64, wanted: u64| (0..count).map(move |x| u64::from(x == wanted));
            let mut all: Vec<u64> = Vec::new();
            for (row, block, _) in places.iter().map(|i| self.place(*i)) {
                all.extend(one_hot(self.rows, row));
                all.extend(one_hot(if self.blocks > 1 { self.blocks } else { 0 }, block));
            }
            assert_eq!(all.len(), self.selectors().0);
            let padded = |some: &[u64]| [some, &vec![0; self.n - some.len()]].concat();
            return all.chunks(self.selectors().1).map(padded).collect();
        }
        (0..self.queries).map(|i| self.marked(places, i)).collect()
    }

    fn marked(&self, places: &[u64], i: usize) -> Vec<u64> {
        let mut out = vec![0; self.n];
        for (bucket, place) in places.iter().enumerate() {
            let (row, _, position) = self.place(*place);
            let (there, position) = match self.scheme.as_str() {
                "fastpir" => (row == i as u64, position),
                "pirana" => (word(row).contains(&i), position),
                "vbpir" if i + 1 == self.queries => (true, position),
                "vbpir" => {
                    let h = self.rows.div_ceil(self.queries as u64 - 1);
                    (row / h == i as u64, self.turned(position, self.turns() - row % h % self.turns()))
                }
                other => unreachable!("{other}"),
            };
            for part in 0..self.split {
                out[self.slot(bucket * self.split + part, position)] = u64::from(there);
            }
        }
        out
    }
}

/// Where the ones of a row's word are: {0, 1}, {0, 2}, {1, 2}, {0, 3}, ...
fn word(row: u64) -> [usize; 2] {
    let (mut upper, mut before) = (1, 0);
    while before + upper <= row {
        before += upper;
        upper += 1;
    }
    [(row - before) as usize, upper as usize]
}
