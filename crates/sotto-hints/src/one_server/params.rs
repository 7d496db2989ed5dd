//! Parameters: N rows of B bytes, c partitions of w rows, M hints, backups, Q queries.
//!
//! The memory that a client needs is a function of these numbers, and they come from a peer. So
//! everything is bounded, c is the only number of partitions that N and w allow, and hints and
//! backups have the least possible counts at most.

use super::row_order::PartitionPlace;
use super::row_order::RowOrder;
use crate::message::MessageLengths;
use serde::{Serialize, de::DeserializeOwned};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{
    Costs, NamedSet, ParamsDigest, ParamsError, ParamsReport, Result, SchemeId, SchemeMetadata, Security,
    TableShape, Wire, work,
};
use std::fmt::Debug;

/// Maximum number of rows in a partition, and of partitions: both are numbered with 16 bits.
pub const MAX_PER_SIDE: u64 = 1 << 16;

/// Maximum bytes of a row.
pub const MAX_ROW_BYTES: u64 = 1 << 20;

/// Maximum number of hints, of backups of all partitions, and of queries. The longest tables need a
/// third of it.
pub const MAX_IDS: u64 = 1 << 24;

/// Operations per id of a search for a hint: an eighth of an AES block, and the tag.
const ID_OPS: u64 = work::AES_BLOCK / 8 + 5;

/// The numbers of the parameters in a catalog.
#[derive(Debug, Clone, Copy)]
pub struct HintNumbers {
    /// Rows of the table, N.
    pub rows: u64,
    /// Bytes in a row, B.
    pub row_bytes: u64,
    /// Partitions of the table, c.
    pub partitions: u64,
    /// Rows in a partition, w; a power of two.
    pub partition_rows: u64,
    /// Hints that a client has at any time, M.
    pub hints: u64,
    /// Backups, of each partition or in total.
    pub backups: u64,
    /// Queries that a client can make, Q.
    pub queries: u64,
}

/// A family's report on parameters.
#[derive(Debug, Clone)]
pub struct FamilyReport {
    /// log2 of a bound on the probability that any lookup fails.
    pub failure_log2: f64,
    /// The lookups that the failure bound covers.
    pub covered: &'static str,
    /// Number of hints that a query examines closely.
    pub candidates: u64,
    /// Bytes of a new client's saved state.
    pub client_bytes: u64,
    /// Bytes by which the state can grow.
    pub growth: u64,
    /// The assumption behind 128 bits of security.
    pub model: String,
    /// Further numbers of the parameters, besides c, w and M, named as in the scheme's paper.
    pub details: Vec<(&'static str, String)>,
}

/// Parameters as a catalog states them.
pub trait Literal: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The divisor of c: c is its least multiple that holds the rows.
    const MULTIPLE: u64;
    /// The minimum of w.
    const MIN_ROWS: u64;
    /// Whether the number of backups is per partition, or in total.
    const PER_PARTITION: bool;
    /// The maximum number of backups.
    const MAX_BACKUPS: u64;
    /// The numbers of the parameters, unchecked.
    fn numbers(&self) -> HintNumbers;
    /// The costs and guarantees of parameters whose numbers are in range.
    fn promise(&self) -> FamilyReport;
    /// The named parameter sets.
    fn sets() -> Vec<NamedSet> {
        Vec::new()
    }
    /// Selects parameters for a table.
    ///
    /// # Errors
    /// [`ParamsError::NoFit`] if none fit.
    fn select(shape: &TableShape) -> Result<Self>;
}

/// The identity of a family, the numbers of its tables, and the inputs of its pseudo-random function.
pub trait ParamsFamily: Sized + Copy + Debug + Send + Sync + 'static {
    /// The scheme id, which is stable on the wire.
    const ID: SchemeId;
    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;

    /// The parameters as a catalog states them.
    type Literal: Literal;
    /// The public order of rows.
    type Order: RowOrder + Send + Sync + 'static;
    /// Rows of an answer: one or two.
    const ANSWER_ROWS: usize;

    /// The PRF input x of offsets in partition 0; partition k uses this plus k. The low 56 bits of
    /// all such inputs are zeros.
    const OFFSET: u64;
    /// The PRF input x of the tags of rows in partition 0.
    const TAG: u64;
    /// The PRF input x of a client's name.
    const NAME: u64;

    /// The query that the server receives.
    type Query: Wire<Params<Self>> + Send + 'static;
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct Params<F: ParamsFamily> {
    literal: F::Literal,
    numbers: HintNumbers,
    promise: FamilyReport,
}

impl<F: ParamsFamily> Params<F> {
    /// Rows of the table, N.
    pub fn rows(&self) -> u64 {
        self.numbers.rows
    }
    /// Bytes in a row, B.
    pub fn row_bytes(&self) -> usize {
        self.numbers.row_bytes as usize
    }
    /// Partitions of the table, c.
    pub fn partitions(&self) -> usize {
        self.numbers.partitions as usize
    }
    /// Rows in a partition, w.
    pub fn partition_rows(&self) -> usize {
        self.numbers.partition_rows as usize
    }
    /// Bits of an offset in a partition, log2 w.
    pub fn offset_bits(&self) -> u32 {
        self.partition_rows().ilog2()
    }
    /// Hints, M. Their ids are 0..M.
    pub fn hints(&self) -> usize {
        self.numbers.hints as usize
    }
    /// Backups, of each partition or in total, as the family counts them. Their ids follow those of
    /// the hints.
    pub fn backups(&self) -> usize {
        self.numbers.backups as usize
    }
    /// Number of ids: of hints and of all backups.
    pub fn ids(&self) -> usize {
        self.hints() + self.backups() * if F::Literal::PER_PARTITION { self.partitions() } else { 1 }
    }
    /// Queries of a client, Q.
    pub fn queries(&self) -> usize {
        self.numbers.queries as usize
    }
    /// Number of hints that every query examines closely.
    pub fn candidates(&self) -> usize {
        (self.promise.candidates as usize).min(self.ids())
    }
    /// Places for rows in the image. Some may have no row.
    pub fn places(&self) -> u64 {
        places::<F>(&self.numbers)
    }
    /// Bytes of the table in an image, with all places.
    pub fn table_bytes(&self) -> u64 {
        self.places() * self.numbers.row_bytes
    }
    /// The number of a place, counted partition by partition.
    pub fn index(&self, place: PartitionPlace) -> u64 {
        u64::from(place.partition) * self.numbers.partition_rows + u64::from(place.offset)
    }
    /// Whether a place exists.
    pub fn has(&self, place: PartitionPlace) -> bool {
        usize::from(place.partition) < self.partitions() && usize::from(place.offset) < self.partition_rows()
    }

    /// Checks everything but the failure bound.
    ///
    /// # Errors
    /// [`sotto_core::Error::Params`] with the field that is out of range.
    pub fn of(literal: F::Literal) -> Result<Self> {
        let numbers = literal.numbers();
        let HintNumbers { rows, row_bytes, partitions: c, partition_rows: w, hints, backups, queries } =
            numbers;
        in_range("rows", rows, MAX_PER_SIDE * MAX_PER_SIDE)?;
        in_range("row_bytes", row_bytes, MAX_ROW_BYTES)?;
        in_range("partition_rows", w, MAX_PER_SIDE)?;
        let least = F::Literal::MIN_ROWS;
        if !w.is_power_of_two() || w < least || w > rows.next_power_of_two().max(least) {
            let why = format!("must be a power of two, at least {least}, and hold at most the table");
            return Err(field("partition_rows", why));
        }
        in_range("partitions", c, MAX_PER_SIDE)?;
        let (expected, multiple) = (min_partitions::<F::Literal>(rows, w), F::Literal::MULTIPLE);
        if c != expected {
            let why = format!("must be {expected}, the least multiple of {multiple} that holds the rows");
            return Err(field("partitions", why));
        }
        in_range("hints", hints, MAX_IDS)?;
        in_range(
            "backups",
            backups,
            F::Literal::MAX_BACKUPS.min(MAX_IDS / if F::Literal::PER_PARTITION { c } else { 1 }),
        )?;
        in_range("queries", queries, MAX_IDS)?;
        let promise = literal.promise();
        // On platforms with 32-bit lengths, such as browsers, large states and tables are refused
        // here.
        let most = (promise.client_bytes + promise.growth).max(places::<F>(&numbers) * row_bytes);
        if usize::try_from(most).is_err() {
            return Err(field("rows", "the table or the client state exceeds the address space".into()));
        }
        Ok(Params { literal, numbers, promise })
    }
}

impl<F: ParamsFamily> sotto_core::Params for Params<F> {
    type Literal = F::Literal;

    fn sets() -> Vec<NamedSet> {
        F::Literal::sets()
    }

    fn select(shape: &TableShape) -> Result<F::Literal> {
        F::Literal::select(shape)
    }

    fn check(literal: F::Literal) -> Result<Self> {
        let params = Params::of(literal)?;
        let (log2, required) = (params.promise.failure_log2, REQUIRED_FAILURE_LOG2);
        if log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2, required }.into());
        }
        Ok(params)
    }

    fn literal(&self) -> &F::Literal {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        let HintNumbers { rows, row_bytes, partitions, partition_rows, hints, queries, .. } = self.numbers;
        let details = sotto_core::report_details(|| {
            let sizes = [("c", partitions), ("w", partition_rows), ("M", hints)];
            let mut details: Vec<_> = sizes.map(|(name, size)| (name, size.to_string())).into();
            details.extend_from_slice(&self.promise.details);
            details.push(("candidates", self.candidates().to_string()));
            details.push(("failure", self.promise.covered.into()));
            details
        });
        ParamsReport {
            digest: ParamsDigest([0; 32]),
            records: rows,
            record_bytes: row_bytes,
            costs: Costs {
                artifact_bytes: self.table_bytes(),
                keys_bytes: 0,
                query_bytes: F::Query::size(self) as u64,
                answer_bytes: self.answer_bytes() as u64,
                server_ops: partitions * (work::FIND_ROW + row_bytes * work::READ_BYTE),
                client_ops: self.ids() as u64 * ID_OPS,
                resident_bytes: self.table_bytes(),
                client_bytes: self.promise.client_bytes,
                budget: queries,
            },
            security: Security { bits: 128.0, model: self.promise.model.clone(), core_svp: None },
            failure_log2: self.promise.failure_log2,
            abort_leakage: None,
            details,
        }
    }
}

impl<F: ParamsFamily> MessageLengths for Params<F> {
    fn answer_bytes(&self) -> usize {
        F::ANSWER_ROWS * self.row_bytes()
    }
}

/// The w of a table with as many partitions as each has rows, or fewer, where w is a power of two.
///
/// # Errors
/// [`ParamsError::NoFit`] for an empty table, or one larger than the limits allow.
pub fn balanced(shape: &TableShape) -> Result<u64> {
    let &TableShape { rows, row_bytes, .. } = shape;
    let no_fit = |why: &str| ParamsError::NoFit { rows, row_bytes, why: why.into() };
    if rows == 0 || row_bytes == 0 {
        return Err(no_fit("expected at least one row of at least one byte").into());
    }
    if rows > MAX_PER_SIDE * MAX_PER_SIDE || row_bytes > MAX_ROW_BYTES {
        return Err(no_fit("expected at most 2^32 rows of at most 2^20 bytes").into());
    }
    Ok(1 << rows.next_power_of_two().ilog2().div_ceil(2))
}

/// The number of partitions of w rows that a table has.
pub fn min_partitions<L: Literal>(rows: u64, w: u64) -> u64 {
    rows.div_ceil(w).next_multiple_of(L::MULTIPLE)
}

/// The security model of `blocks` AES outputs in requests: using a permutation for a function costs
/// q^2 / 2^129.
pub fn security_model(blocks: f64) -> String {
    let switching = 2.0 * blocks.log2() - 129.0;
    format!(
        "search for a key of AES-128, taken for a random permutation; \
         telling it from a function over all queries of one client: 2^{switching:.0}"
    )
}

/// A parameter error that names the field.
pub fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}

fn places<F: ParamsFamily>(numbers: &HintNumbers) -> u64 {
    F::Order::places(numbers.rows, numbers.partitions * numbers.partition_rows)
}

fn in_range(name: &'static str, value: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&value) && usize::try_from(value).is_ok() {
        return Ok(());
    }
    Err(field(name, format!("must be in 1..={most}")))
}
