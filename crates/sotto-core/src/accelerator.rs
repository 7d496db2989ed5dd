//! Accelerators: what multiplies the byte matrices of an open table in place of the processor, such as
//! a graphics card.
//!
//! A scheme says which matrices its passes read ([`Server::matrices`](crate::Server::matrices)), and
//! asks the slot of each of them first in every pass. Whoever opens the table may have an accelerator
//! copy the matrices, and fill the slots. A slot that is empty, or whose accelerator fails, leaves the
//! pass to the processor's kernels, which give the same numbers.

use std::fmt::{Debug, Display};
use std::sync::{Arc, PoisonError, RwLock};

/// The reason why an accelerator does not take a matrix, or cannot multiply it any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceleratorError {
    /// The memory that the accelerator may take has less left. Some may be released later.
    #[error("the matrices take {want} bytes, and {left} of the accelerator's memory are left")]
    Memory {
        /// Bytes that the matrices take.
        want: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// The accelerator or its driver fails.
    #[error("{0}")]
    Failed(String),
}

/// A query of a pass: one word for each column of a matrix, as byte planes.
///
/// Word `g * planes + k` is byte `k` of the words of columns `4 g` to `4 g + 3`, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassQuery<'a> {
    /// Bytes of the word of a column, at least 1.
    pub planes: usize,
    /// All planes, in the order above; as many for each four columns as there are planes.
    pub words: &'a [u32],
}

/// The products of a matrix with each query of a pass.
pub type PassProducts<T> = Result<Vec<Vec<T>>, AcceleratorError>;

/// Multiplies one matrix, of which it has a copy, by the queries of a pass.
pub trait AcceleratedMatrix: Send + Sync {
    /// The products modulo 2^32, of the low four planes: a word for each row, padding included.
    ///
    /// # Errors
    /// [`AcceleratorError`]: there are no products, and there will be none.
    fn times_u32(&self, queries: &[PassQuery<'_>]) -> PassProducts<u32>;

    /// The products in exact integers: for each row, padding included, a sum for each plane of the
    /// query.
    ///
    /// # Errors
    /// As [`times_u32`](Self::times_u32).
    fn times_planes(&self, queries: &[PassQuery<'_>]) -> PassProducts<i64>;
}

/// A matrix of signed bytes that the passes over an open table read.
pub struct TableMatrix<'a> {
    /// Rows without padding.
    pub rows: usize,
    /// Columns without padding.
    pub cols: usize,
    /// All panels of 64 rows, in the layout of `sotto_math::matrix::PanelLayout`.
    pub panels: &'a [u8],
    /// The slot that a pass asks first.
    pub slot: Arc<AcceleratorSlot>,
}

/// Copies matrices of tables, and multiplies them by queries. Its text names the device and the driver.
pub trait Accelerator: Debug + Display + Send + Sync {
    /// Copies all matrices of a table, or none of them. Passes over other matrices may run meanwhile.
    ///
    /// # Errors
    /// [`AcceleratorError`] if the accelerator cannot take them.
    fn copy(&self, matrices: &[TableMatrix<'_>])
    -> Result<Vec<Box<dyn AcceleratedMatrix>>, AcceleratorError>;
}

/// The place for an accelerator's copy of a matrix, which the scheme and whoever opened the table share.
#[derive(Default)]
pub struct AcceleratorSlot(RwLock<Option<Box<dyn AcceleratedMatrix>>>);

impl AcceleratorSlot {
    /// Fills or empties the slot, after the pass that is being made with what was there.
    pub fn replace(&self, matrix: Option<Box<dyn AcceleratedMatrix>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = matrix;
    }

    /// Whether there is a copy.
    pub fn is_filled(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Makes a pass with the copy. `None` if there is no copy, or it fails: then the slot is empty from
    /// now on, and the processor makes this pass and all after it.
    pub fn pass<T>(
        &self,
        pass: impl FnOnce(&dyn AcceleratedMatrix) -> PassProducts<T>,
    ) -> Option<Vec<Vec<T>>> {
        let products = pass(self.0.read().unwrap_or_else(PoisonError::into_inner).as_deref()?);
        if products.is_err() {
            self.replace(None);
        }
        products.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Fails after some passes.
    struct Failing(AtomicUsize);

    impl AcceleratedMatrix for Failing {
        fn times_u32(&self, queries: &[PassQuery<'_>]) -> PassProducts<u32> {
            let left = self.0.load(Ordering::Relaxed).checked_sub(1);
            self.0.store(left.ok_or(AcceleratorError::Failed("lost".into()))?, Ordering::Relaxed);
            Ok(queries.iter().map(|query| query.words.to_vec()).collect())
        }

        fn times_planes(&self, _: &[PassQuery<'_>]) -> PassProducts<i64> {
            Err(AcceleratorError::Memory { want: 2, left: 1 })
        }
    }

    #[test]
    fn a_slot_is_empty_after_a_failure() {
        let (slot, query) = (AcceleratorSlot::default(), PassQuery { planes: 1, words: &[7, 8] });
        assert_eq!(slot.pass(|copy| copy.times_u32(&[query])), None);
        slot.replace(Some(Box::new(Failing(AtomicUsize::new(1)))));
        assert_eq!(slot.pass(|copy| copy.times_u32(&[query, query])), Some(vec![vec![7, 8]; 2]));
        assert!(slot.is_filled());
        assert_eq!(slot.pass(|copy| copy.times_u32(&[query])), None);
        assert!(!slot.is_filled());
        slot.replace(Some(Box::new(Failing(AtomicUsize::new(9)))));
        assert_eq!(slot.pass(|copy| copy.times_planes(&[query])), None);
        assert!(!slot.is_filled());
    }
}
