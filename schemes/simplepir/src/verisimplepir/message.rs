//! Query and answer: words below Q, four bytes each, little-endian.

use super::params::Params;
use sotto_core::{Result, Wire, wire};
use sotto_silent::lwe::ring;

/// A query: an encrypted unit vector c, m words modulo Q.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(pub(crate) Vec<u32>);

/// An answer: the product D c, l words modulo Q.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(pub(crate) Vec<u32>);

/// Implements a message of words, whose number follows from the parameters.
macro_rules! words {
    ($name:ident, $called:literal, $count:ident) => {
        impl Wire<Params> for $name {
            fn size(params: &Params) -> usize {
                params.$count() * 4
            }
            fn put(&self, _: &Params, out: &mut Vec<u8>) {
                out.extend(self.0.iter().flat_map(|word| word.to_le_bytes()));
            }
            fn take(params: &Params, bytes: &[u8]) -> Result<Self> {
                wire::exact($called, bytes, Self::size(params))?;
                let mut words = Vec::with_capacity(params.$count());
                ring::take_words($called, bytes.as_chunks().0, &mut words)?;
                Ok($name(words))
            }
        }
    };
}

words!(Query, "query", m);
words!(Answer, "answer", l);
