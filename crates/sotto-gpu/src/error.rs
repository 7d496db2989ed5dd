//! What a card can refuse.

/// Result of this crate's functions.
pub type Result<T, E = GpuError> = std::result::Result<T, E>;

/// A failure of a card or its driver, or a table that no card can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No driver lists a card.
    #[error("no card with a Vulkan driver is found")]
    NoCard,
    /// The driver reports an error: the card's memory is full, or the card is lost.
    #[error("the driver of the card fails: {0}")]
    Driver(String),
    /// Tables may take less memory of the card than is wanted.
    #[error("the table takes {want} bytes of the card's memory, and {left} are left")]
    Memory {
        /// Bytes that the table takes.
        want: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// 64 rows of the table are more than one buffer of the card.
    #[error("64 rows are {panel} bytes, and a buffer of the card is at most {buffer}")]
    WideTable {
        /// Bytes of 64 rows.
        panel: u64,
        /// Maximum number of bytes of a buffer.
        buffer: u64,
    },
    /// Bytes that are not whole panels of the table.
    #[error("expected whole panels of {panel} bytes within the table, got {got} bytes")]
    Panels {
        /// Bytes of a panel.
        panel: u64,
        /// Bytes given.
        got: u64,
    },
    /// A query for a table of other columns.
    #[error("expected a query of {want} groups of columns, got {got}")]
    ForeignQuery {
        /// Groups of four columns of the table.
        want: usize,
        /// Groups of four columns of the query.
        got: usize,
    },
}

impl GpuError {
    /// Wraps what the driver says.
    pub(crate) fn driver(error: impl std::fmt::Display) -> Self {
        GpuError::Driver(error.to_string())
    }
}
