//! The order of the products that lead from u, v and the table to an answer.
//!
//! Both orders give `r = sum over a, b of u[a] v[b] X[a, b]`, a polynomial of three parts modulo
//! the primes of the table, and modulo integers products distribute over sums without an error: so
//! both give the *same* `r`, noise included, over the same image and for the same query. Nothing is
//! rounded before. The order is thus the server's own choice and not in a literal, and answers do
//! not reveal it.

/// The order of the products of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProductOrder {
    /// `sum over a of u[a] (sum over b of v[b] X[a, b])`: two products of polynomials a row, and four a column.
    #[default]
    Distributed,
    /// The paper's order, `sum over a, b of (u[a] v[b]) X[a, b]`: four products of polynomials a
    /// row for the three parts of a raw product of ciphertexts, and three for those times the row.
    Paper,
}

impl ProductOrder {
    /// The names of all orders.
    pub const NAMES: [&'static str; 2] = [ProductOrder::Distributed.name(), ProductOrder::Paper.name()];

    /// The name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            ProductOrder::Distributed => "distributed",
            ProductOrder::Paper => "paper",
        }
    }

    /// The order with a name.
    pub fn named(name: &str) -> Option<Self> {
        [ProductOrder::Distributed, ProductOrder::Paper].into_iter().find(|order| order.name() == name)
    }

    /// Products of polynomials modulo one prime, for `rows` rows in `columns` columns.
    pub(crate) fn products(self, rows: u64, columns: u64) -> u64 {
        match self {
            ProductOrder::Distributed => rows.saturating_mul(2).saturating_add(columns.saturating_mul(4)),
            ProductOrder::Paper => rows.saturating_mul(7),
        }
    }
}
