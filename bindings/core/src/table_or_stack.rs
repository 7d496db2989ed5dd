//! An open table or stack, asked in padded rounds.

use crate::cost::{LookupCost, Observation};
use crate::error::BindingError;
use crate::table_info::TableInfo;
use sotto_client::stack::BatchStack;
use sotto_client::{ClientError, Lookup, LookupResult, Table};
use web_time::Instant;

/// What a name stands for.
#[derive(Debug)]
pub enum TableOrStack {
    /// A table.
    Table(Box<Table>),
    /// Several under a batch code.
    Stack(Box<BatchStack>),
}

/// What comes of each wish.
pub type LookupOutcome = Vec<Result<LookupResult, ClientError>>;

/// The most lookups that anything is filled up to.
const MAX_OF_A_BATCH: usize = 1 << 16;

impl TableOrStack {
    /// What it is, as it is now.
    ///
    /// # Errors
    /// What is wrong with its catalog.
    pub fn about(&self) -> Result<TableInfo, BindingError> {
        match self {
            TableOrStack::Table(table) => TableInfo::table(table),
            TableOrStack::Stack(batch) => TableInfo::stack(batch),
        }
    }

    /// Asks for all that is wanted, in as many rounds as it takes; gives what came of each wish, in order, and what it cost.
    /// What is asked of a table is filled up to a multiple of `batch`, so that the number of wishes is not seen; the rounds of
    /// a stack look the same whatever is in them. A wish that can be no row and no key is row 0's: it is asked for like any
    /// other.
    ///
    /// # Errors
    /// [`BindingError`]; what servers do not see, such as a row past the end, is one once everything was asked.
    pub fn rounds(
        &mut self,
        wanted: &[Lookup<'_>],
        batch: usize,
    ) -> Result<(LookupOutcome, LookupCost), BindingError> {
        if !(1..=MAX_OF_A_BATCH).contains(&batch) {
            let fix = format!("give one of 1 to {MAX_OF_A_BATCH}");
            return Err(BindingError::misuse(format!("a batch of {batch} is none"), fix));
        }
        let (mut wishes, mut cost) = (wanted.to_vec(), LookupCost::of(wanted.len()));
        let start = Instant::now();
        let mut each = match self {
            TableOrStack::Table(table) => {
                wishes.resize(wishes.len().div_ceil(batch).max(1) * batch, Lookup::Row(0));
                table.get_each(&wishes)?
            }
            TableOrStack::Stack(batch) => batch.get_each(&wishes)?,
        };
        cost.took(start.elapsed());
        match self {
            TableOrStack::Table(table) => cost.add_table(table),
            TableOrStack::Stack(batch) => cost.add_stack(batch),
        }
        each.truncate(wanted.len());
        Ok((each, self.told(cost, batch > 1)))
    }

    /// Looks for a newer epoch. Gives whether there was one. Each round of a stack follows its epochs by itself.
    ///
    /// # Errors
    /// [`BindingError`].
    pub fn refresh(&mut self) -> Result<bool, BindingError> {
        Ok(match self {
            TableOrStack::Table(table) => table.refresh()?,
            TableOrStack::Stack(_) => false,
        })
    }

    /// What the servers saw of it.
    fn told(&self, mut cost: LookupCost, is_padded: bool) -> LookupCost {
        let tables = match self {
            TableOrStack::Table(table) => std::slice::from_ref(table.as_ref()),
            TableOrStack::Stack(batch) => batch.stack().tables(),
        };
        tables.iter().for_each(|table| cost.add_once(&table.stats()));
        let (name, is_stack) = match self {
            TableOrStack::Table(table) => (table.catalog().table.as_str(), false),
            TableOrStack::Stack(batch) => (batch.stack().document().stack.as_str(), true),
        };
        let first = tables.first();
        cost.tell(&Observation {
            table: name,
            servers: first.map_or(1, |table| table.catalog().servers),
            is_stack,
            has_keys: first.is_some_and(|table| table.session().sizes().keys_bytes > 0),
            hides_count: is_stack || is_padded,
        })
    }
}
