//! An open table or stack, queried in padded rounds.

use crate::cost::{LookupCost, Observation};
use crate::error::BindingError;
use crate::table_info::TableInfo;
use sotto_client::stack::BatchStack;
use sotto_client::{ClientError, Lookup, LookupResult, Table};
use web_time::Instant;

/// An open table, or an open stack of the same name.
#[derive(Debug)]
pub enum TableOrStack {
    /// A single table.
    Table(Box<Table>),
    /// Several tables under a batch code.
    Stack(Box<BatchStack>),
}

/// The result of each lookup.
pub type LookupOutcome = Vec<Result<LookupResult, ClientError>>;

/// Maximum number of lookups that a batch is filled up to.
const MAX_OF_A_BATCH: usize = 1 << 16;

impl TableOrStack {
    /// The current description of the table or stack.
    ///
    /// # Errors
    /// An error in the table's catalog.
    pub fn about(&self) -> Result<TableInfo, BindingError> {
        match self {
            TableOrStack::Table(table) => TableInfo::table(table),
            TableOrStack::Stack(batch) => TableInfo::stack(batch),
        }
    }

    /// Makes all lookups, in as many rounds as necessary; returns the result of each, in order, and
    /// the cost. The lookups of a table are filled up with dummy rows to a multiple of `batch`,
    /// which hides their number; the rounds of a stack look the same whatever is in them. A lookup
    /// that is neither a valid row nor a valid key is replaced by row 0.
    ///
    /// # Errors
    /// [`BindingError`]; an error that servers do not see, such as a row past the end, is reported
    /// once all queries were made.
    pub fn rounds(
        &mut self,
        lookups: &[Lookup<'_>],
        batch: usize,
    ) -> Result<(LookupOutcome, LookupCost), BindingError> {
        if !(1..=MAX_OF_A_BATCH).contains(&batch) {
            let fix = format!("give a size from 1 to {MAX_OF_A_BATCH}");
            return Err(BindingError::misuse(format!("a batch of {batch} lookups is not possible"), fix));
        }
        let (mut padded, mut cost) = (lookups.to_vec(), LookupCost::of(lookups.len()));
        let start = Instant::now();
        let mut each = match self {
            TableOrStack::Table(table) => {
                padded.resize(padded.len().div_ceil(batch).max(1) * batch, Lookup::Row(0));
                table.get_each(&padded)?
            }
            TableOrStack::Stack(batch) => batch.get_each(&padded)?,
        };
        cost.set_total(start.elapsed());
        match self {
            TableOrStack::Table(table) => cost.add_table(table),
            TableOrStack::Stack(batch) => cost.add_stack(batch),
        }
        each.truncate(lookups.len());
        Ok((each, self.with_leakage(cost, batch > 1)))
    }

    /// Checks for a newer epoch. Returns whether there was one. Each round of a stack follows its
    /// epochs by itself.
    ///
    /// # Errors
    /// [`BindingError`].
    pub fn refresh(&mut self) -> Result<bool, BindingError> {
        Ok(match self {
            TableOrStack::Table(table) => table.refresh()?,
            TableOrStack::Stack(_) => false,
        })
    }

    /// Describes what the servers saw of the lookups.
    fn with_leakage(&self, mut cost: LookupCost, is_padded: bool) -> LookupCost {
        let tables = match self {
            TableOrStack::Table(table) => std::slice::from_ref(table.as_ref()),
            TableOrStack::Stack(batch) => batch.stack().tables(),
        };
        tables.iter().for_each(|table| cost.add_setup(&table.stats()));
        let (name, is_stack) = match self {
            TableOrStack::Table(table) => (table.catalog().table.as_str(), false),
            TableOrStack::Stack(batch) => (batch.stack().document().stack.as_str(), true),
        };
        let first = tables.first();
        cost.with_leakage(&Observation {
            table: name,
            servers: first.map_or(1, |table| table.catalog().servers),
            is_stack,
            has_keys: first.is_some_and(|table| table.session().sizes().keys_bytes > 0),
            hides_count: is_stack || is_padded,
        })
    }
}
