//! The client: ask, read the answers.
//!
//! Nothing branches or allocates by the index asked for. Two addresses depend on secrets: of the hint that was chosen, which is a
//! random one of those that contain the row, and of its parity.

use crate::Checklist;
use crate::choose::choose;
use crate::journal::Record as Entry;
use crate::message::{Answer, Query};
use crate::params::Params;
use crate::request::{FIRST, Pair, SECOND, SPEND, build};
use crate::set::{Keyed, Places, Set, either};
use crate::tree::{Room, Trees};
use sotto_core::{Budget, CryptoRng, Error, Misuse, Record, RecordIndex, Result, Two};
use std::collections::VecDeque;
use std::io;
use zeroize::{Zeroize, Zeroizing};

/// What is known of a hint's parity.
pub(crate) const LOST: u8 = 0;
pub(crate) const KNOWN: u8 = 1;
/// It comes with the answer to the query that made the hint.
pub(crate) const AWAITED: u8 = 2;

/// A hint, without its parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Zeroize)]
pub(crate) struct Hint {
    pub(crate) set: Set,
    /// The query that made it, or 0 for one that was ordered.
    pub(crate) made: u64,
    pub(crate) standing: u8,
}

/// A query whose answers have not come.
pub(crate) struct Asked {
    pub(crate) number: u64,
    pub(crate) form: u8,
    /// The slot where a hint was spent and replaced, or M for none.
    pub(crate) slot: u32,
    /// The hint that was spent.
    pub(crate) spent: Hint,
    pub(crate) parity: Zeroizing<Vec<u8>>,
}

/// A client with hints.
pub struct Client {
    pub(crate) params: Params,
    pub(crate) trees: Trees,
    pub(crate) key: Zeroizing<[u8; 16]>,
    /// M slots, and one more where that is written which is not kept.
    pub(crate) hints: Vec<Hint>,
    /// B bytes for each slot.
    pub(crate) parities: Zeroizing<Vec<u8>>,
    /// Blocks of hints that came.
    pub(crate) stocked: u32,
    /// Whether a supply is waited for.
    pub(crate) ordered: bool,
    /// The number of the next query; the first is 1.
    pub(crate) next: u64,
    /// By ascending number.
    pub(crate) asked: VecDeque<Asked>,
    /// The query that was read last, and its slot.
    pub(crate) last: Option<(u64, u32)>,
    /// What the journal has not given yet.
    pub(crate) entries: Vec<Zeroizing<Vec<u8>>>,
    places: Places,
    room: Room,
    /// Tells its queries from other clients'.
    name: u64,
}

/// The name of a query. What is secret about it stays in its client, since it has to survive a crash.
pub struct Pending {
    name: u64,
    pub(crate) number: u64,
}

impl sotto_core::Client<Checklist> for Client {
    type Pending = Pending;

    fn keys(&self) {}

    fn query(&mut self, index: RecordIndex, rng: &mut dyn CryptoRng) -> Result<(Two<Query>, Pending)> {
        let (index, len) = (index.0, self.params.rows());
        if index >= len {
            return Err(Misuse::IndexPastEnd { index, len }.into());
        }
        if self.left() == 0 {
            return Err(Error::Exhausted(Budget::Left(0)));
        }
        // Places are numbered with 32 bits.
        let place = index as u32;
        let slots = self.hints.get(..self.params.hints()).unwrap_or_default();
        let (slot, position) = choose(&self.trees, slots, place, rng.next_u64(), &mut self.room);
        let found = slots.get(slot as usize).map(|hint| (hint.set, position));
        let pair = build(place, found, &self.trees, &mut self.places, &mut self.room, rng);
        let Pair { queries, form, mut fresh } = pair;
        let slot = either(u32::from(form == SPEND), [self.none(), slot]);
        self.note(Entry::Asked { number: self.next, form, slot, fresh });
        let number = self.spend(form, slot, fresh);
        fresh.zeroize();
        Ok((queries, self.pending(number)))
    }

    fn recover(&mut self, pending: Pending, Two(first, second): Two<Answer>) -> Result<Record> {
        let at = self.find(pending.number).filter(|_| pending.name == self.name);
        let asked = at.and_then(|at| self.asked.remove(at)).ok_or(Misuse::Foreign("query"))?;
        let is = |form: u8| u8::from(asked.form == form).wrapping_neg();
        let (width, halves) = (self.params.row_bytes(), [first.0.len() / 2, second.0.len() / 2]);
        let (parity_0, extra_0) = first.0.split_at(halves[0]);
        let (parity_1, extra_1) = second.0.split_at(halves[1]);

        let mut row = Zeroizing::new(parity_0.to_vec());
        row.resize(width, 0);
        let terms = [
            (parity_1, is(FIRST) | is(SECOND)),
            (extra_0, is(FIRST)),
            (extra_1, is(SECOND)),
            (&asked.parity, is(SPEND)),
        ];
        for (bytes, mask) in terms {
            row.iter_mut().zip(bytes).for_each(|(byte, term)| *byte ^= term & mask);
        }
        let mut parity = Zeroizing::new(parity_1.to_vec());
        parity.resize(width, 0);
        parity.iter_mut().zip(row.iter()).for_each(|(byte, row)| *byte ^= row);

        let readable = asked.form != SPEND || asked.spent.standing == KNOWN;
        self.settle(&asked, readable.then_some(&parity));
        self.note(Entry::Settled { number: asked.number, parity: readable.then_some(&parity) });
        if readable { Ok(Record(row)) } else { Err(Error::Unreadable) }
    }

    /// None before all hints are there.
    fn budget(&self) -> Budget {
        Budget::Left(self.left())
    }
}

impl Client {
    /// A client without parities.
    pub(crate) fn new(params: Params, key: Zeroizing<[u8; 16]>) -> Result<Self> {
        let mut hints = Vec::new();
        let count = params.hints() + 1;
        hints.try_reserve_exact(count).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        hints.resize(count, Hint::default());
        let (trees, keyed, mut places) =
            (Trees::new(&params), Keyed::new(&params, &key), Places::new(&params));
        keyed.each(&trees, 0..params.hints() as u32, &mut places, |id, set, _| {
            if let Some(hint) = hints.get_mut(id as usize) {
                *hint = Hint { set, made: 0, standing: LOST };
            }
        });
        Client::with_hints(params, key, hints)
    }

    /// A client with these hints, and parities of zeros.
    pub(crate) fn with_hints(params: Params, key: Zeroizing<[u8; 16]>, hints: Vec<Hint>) -> Result<Self> {
        let mut parities = Zeroizing::new(Vec::new());
        let bytes = hints.len() * params.row_bytes();
        parities.try_reserve_exact(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        parities.resize(bytes, 0);
        Ok(Client {
            trees: Trees::new(&params),
            name: Keyed::new(&params, &key).name(),
            places: Places::new(&params),
            room: Room::default(),
            stocked: 0,
            ordered: false,
            next: 1,
            asked: VecDeque::new(),
            last: None,
            entries: Vec::new(),
            params,
            key,
            hints,
            parities,
        })
    }

    fn left(&self) -> u64 {
        let made = self.next - 1;
        if self.stocked < self.params.blocks() { 0 } else { self.params.queries().saturating_sub(made) }
    }

    /// The slot that is not kept.
    pub(crate) fn none(&self) -> u32 {
        self.params.hints() as u32
    }

    pub(crate) fn pending(&self, number: u64) -> Pending {
        Pending { name: self.name, number }
    }

    /// Where a query is among those whose answers have not come.
    pub(crate) fn find(&self, number: u64) -> Option<usize> {
        self.asked.binary_search_by_key(&number, |asked| asked.number).ok()
    }

    /// Whether a set is one that this client can have drawn.
    pub(crate) fn is_set(&mut self, set: &Set) -> bool {
        let numbers = self.trees.grow([set.root].into_iter(), &mut self.room);
        set.shift <= self.trees.mask() && self.places.differ(numbers)
    }

    /// Where the parity of a slot lies.
    fn span(&self, slot: u32) -> std::ops::Range<usize> {
        let width = self.params.row_bytes();
        slot as usize * width..(slot as usize + 1) * width
    }

    /// Replaces a hint, and gives the query its number.
    pub(crate) fn spend(&mut self, form: u8, slot: u32, fresh: Set) -> u64 {
        let (number, span) = (self.next, self.span(slot));
        let mut parity = Zeroizing::new(vec![0; self.params.row_bytes()]);
        let here = self.parities.get_mut(span).unwrap_or_default();
        parity.iter_mut().zip(here).for_each(|(spent, here)| *spent = std::mem::take(here));
        let fresh = Hint { set: fresh, made: number, standing: AWAITED };
        let spent = self.hints.get_mut(slot as usize).map(|hint| std::mem::replace(hint, fresh));
        let mut spent = spent.unwrap_or_default();
        if slot == self.none() {
            // Nothing was spent, and what was written is not kept.
            spent = Hint::default();
            parity.fill(0);
        }
        self.asked.push_back(Asked { number, form, slot, spent, parity });
        self.next += 1;
        number
    }

    /// Ends a query that is not among those asked any more: the hint that it made learns its parity, if there is one,
    /// in its slot or where it has been spent already.
    pub(crate) fn settle(&mut self, asked: &Asked, parity: Option<&[u8]>) {
        self.learn(asked.number, asked.slot, parity);
        self.last = Some((asked.number, asked.slot));
    }

    /// Sets or withdraws the parity of the hint that a query made.
    fn learn(&mut self, made: u64, slot: u32, parity: Option<&[u8]>) {
        let span = self.span(slot);
        let here =
            self.hints.get_mut(slot as usize).filter(|hint| hint.made == made).map(|hint| &mut hint.standing);
        let place = match here {
            Some(standing) => Some((standing, self.parities.get_mut(span).unwrap_or_default())),
            None => {
                let spent =
                    self.asked.iter_mut().find(|asked| asked.slot == slot && asked.spent.made == made);
                spent.map(|asked| (&mut asked.spent.standing, asked.parity.as_mut_slice()))
            }
        };
        if let Some((standing, bytes)) = place {
            *standing = if parity.is_some() { KNOWN } else { LOST };
            match parity {
                Some(parity) => bytes.iter_mut().zip(parity).for_each(|(byte, new)| *byte = *new),
                None => bytes.fill(0),
            }
        }
    }

    /// Takes back what the last answer taught, if it was to this query.
    pub(crate) fn withdraw(&mut self, number: u64) {
        if let Some((_, slot)) = self.last.filter(|(last, _)| *last == number) {
            self.learn(number, slot, None);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.hints.zeroize();
        self.asked.iter_mut().for_each(|asked| asked.spent.zeroize());
    }
}
