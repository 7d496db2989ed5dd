//! An open table or stack, asked in padded rounds.

use crate::about::About;
use crate::cost::{Cost, Seen};
use crate::fault::Fault;
use sotto_client::stack::Batch;
use sotto_client::{ClientError, Granted, Table, Wish};
use web_time::Instant;

/// What a name stands for.
#[derive(Debug)]
pub enum Opened {
    /// A table.
    Table(Box<Table>),
    /// Several under a batch code.
    Stack(Box<Batch>),
}

/// What comes of each wish.
pub type Each = Vec<Result<Granted, ClientError>>;

/// The most lookups that anything is filled up to.
const MOST_OF_A_BATCH: usize = 1 << 16;

impl Opened {
    /// What it is, as it is now.
    ///
    /// # Errors
    /// What is wrong with its catalog.
    pub fn about(&self) -> Result<About, Fault> {
        match self {
            Opened::Table(table) => About::table(table),
            Opened::Stack(batch) => About::stack(batch),
        }
    }

    /// Asks for all that is wanted, in as many rounds as it takes; gives what came of each wish, in order, and what it cost.
    /// What is asked of a table is filled up to a multiple of `batch`, so that the number of wishes is not seen; the rounds of
    /// a stack look the same whatever is in them. A wish that can be no row and no key is row 0's: it is asked for like any
    /// other.
    ///
    /// # Errors
    /// [`Fault`]; what servers do not see, such as a row past the end, is one once everything was asked.
    pub fn rounds(&mut self, wanted: &[Wish<'_>], batch: usize) -> Result<(Each, Cost), Fault> {
        if !(1..=MOST_OF_A_BATCH).contains(&batch) {
            let fix = format!("give one of 1 to {MOST_OF_A_BATCH}");
            return Err(Fault::misuse(format!("a batch of {batch} is none"), fix));
        }
        let (mut wishes, mut cost) = (wanted.to_vec(), Cost::of(wanted.len()));
        let start = Instant::now();
        let mut each = match self {
            Opened::Table(table) => {
                wishes.resize(wishes.len().div_ceil(batch).max(1) * batch, Wish::Row(0));
                table.get_each(&wishes)?
            }
            Opened::Stack(batch) => batch.get_each(&wishes)?,
        };
        cost.took(start.elapsed());
        match self {
            Opened::Table(table) => cost.add_table(table),
            Opened::Stack(batch) => cost.add_stack(batch),
        }
        each.truncate(wanted.len());
        Ok((each, self.told(cost, batch > 1)))
    }

    /// Looks for a newer epoch. Gives whether there was one. Each round of a stack follows its epochs by itself.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn refresh(&mut self) -> Result<bool, Fault> {
        Ok(match self {
            Opened::Table(table) => table.refresh()?,
            Opened::Stack(_) => false,
        })
    }

    /// What the servers saw of it.
    fn told(&self, mut cost: Cost, is_padded: bool) -> Cost {
        let tables = match self {
            Opened::Table(table) => std::slice::from_ref(table.as_ref()),
            Opened::Stack(batch) => batch.stack().tables(),
        };
        tables.iter().for_each(|table| cost.add_once(&table.stats()));
        let (name, is_stack) = match self {
            Opened::Table(table) => (table.catalog().table.as_str(), false),
            Opened::Stack(batch) => (batch.stack().document().stack.as_str(), true),
        };
        let first = tables.first();
        cost.tell(&Seen {
            table: name,
            servers: first.map_or(1, |table| table.catalog().servers),
            is_stack,
            has_keys: first.is_some_and(|table| table.session().sizes().keys_bytes > 0),
            hides_count: is_stack || is_padded,
        })
    }
}
