//! Parameters as a catalog states them: `l` bytes in a record, `m` records. All words are
//! modulo Q, so there is nothing else to choose.

use crate::literal::{SAMPLE_OPS, matrix_bytes};
use serde::{Deserialize, Serialize};
use sotto_core::{Costs, work};
use sotto_prg::PublicSeed;
use sotto_silent::lwe::ring::N;

/// Number of equations that an answer must satisfy: each fails for a wrong answer except with
/// probability 1/Q.
pub const EQUATIONS: usize = 4;

/// log2 of a bound on the probability that all equations hold for a wrong answer.
pub const FORGED_LOG2: f64 = -127.99;

/// Operations for one word of a query or an answer in all equations, measured.
const CHECK_OPS: u64 = 1500;

/// Parameters as a catalog states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsLiteral {
    /// Name of the lattice set: [`crate::literal::SET`].
    pub set: String,
    /// Bytes in a record: rows of the matrix, `l`.
    pub record_bytes: u64,
    /// Number of records: columns of the matrix, `m`.
    pub records: u64,
    /// Seed of the public matrix: [`sotto_silent::lwe::ring::PUBLIC_SEED`].
    pub seed: PublicSeed,
}

impl ParamsLiteral {
    /// Bytes of the table: the matrix in panels, which clients stream and servers scan.
    pub fn table_bytes(&self) -> u64 {
        matrix_bytes(self.record_bytes, self.records)
    }

    /// Bytes of the hint, which clients compute and store: l rows of n words.
    pub fn hint_bytes(&self) -> u64 {
        self.record_bytes * (N as u64) * 4
    }

    /// The costs of a lookup.
    pub(crate) fn costs(&self) -> Costs {
        Costs {
            artifact_bytes: self.table_bytes(),
            query_bytes: self.records * 4,
            answer_bytes: self.record_bytes * 4,
            // Four planes: the products are made while the matrix comes from memory.
            server_ops: self.table_bytes() * work::READ_BYTE,
            client_ops: self.hint_bytes() * work::READ_BYTE
                + self.records * SAMPLE_OPS
                + (self.records + self.record_bytes) * CHECK_OPS,
            resident_bytes: self.table_bytes(),
            ..Costs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sotto_silent::lwe::ring::Q;

    #[test]
    fn a_wrong_answer_passes_no_more_often_than_is_said() {
        let one = 1.0 / f64::from(Q) + 0.5f64.powi(64);
        assert!(one.log2() * EQUATIONS as f64 <= FORGED_LOG2);
    }
}
