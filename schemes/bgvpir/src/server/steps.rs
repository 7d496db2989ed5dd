//! One answer, step by step and in either order of products, with a callback after each step.

use super::session::{Session, with_keys};
use super::{Server, answer, paper, prepare};
use crate::BgvPir;
use crate::message::{Answer, Query};
use crate::order::ProductOrder;
use sotto_core::{Misuse, Result, StepServer};

/// The query rotated to every leaf.
const ROTATIONS: &str = "rotations";
/// Products of leaves for u and v, with relinearization, and lowering both to the primes of the
/// table.
const UNFOLDING: &str = "unfolding";
/// The products from u, v and the table to the sum of three parts.
const PRODUCTS: &str = "inner product";
/// Relinearization of the sum, dropping primes, and rounding.
const LAST: &str = "last step";

impl Server {
    /// Answers one query in the given order, and calls `done` with the name of each step after it.
    ///
    /// # Errors
    /// Those of [`sotto_core::Server::answer`].
    pub fn answer_in(
        &self,
        order: ProductOrder,
        session: &Session,
        query: &Query,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Answer> {
        let (table, params) = (&self.table, self.table.params());
        with_keys!(params, session, (rns, keys) => {
            let leaves = prepare::leaves(table, rns, keys, query)?;
            done(ROTATIONS);
            let [u, v] = prepare::sides(params, rns, keys, leaves);
            done(UNFOLDING);
            let products = match order {
                ProductOrder::Paper => paper::products(table, rns, &u, &v),
                ProductOrder::Distributed => {
                    let query = prepare::ExpandedQuery::new(table, [u, v]);
                    let sums = answer::first_dimension(table, &[&query]);
                    sums.iter().flat_map(|sums| answer::products(table, rns, &query, sums)).collect()
                }
            };
            done(PRODUCTS);
            let answer = answer::finish(params, rns, keys, products);
            done(LAST);
            Ok(answer)
        })
    }
}

impl StepServer for BgvPir {
    const ORDERS: &'static [&'static str] = &ProductOrder::NAMES;

    fn answer_by_steps(
        server: &Server,
        session: &Session,
        query: Query,
        order: &str,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Answer> {
        let order =
            ProductOrder::named(order).ok_or(Misuse::Rule("the order must be one of the scheme's"))?;
        server.answer_in(order, session, &query, done)
    }
}

#[cfg(test)]
mod tests;
