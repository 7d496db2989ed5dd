//! Apple's private lookups over HTTP.
//!
//! | module | tests |
//! |---|---|
//! | `harness` | use cases in files, and a client of one, with a user's name |
//! | `recordings` | a whole session of Apple's own client, to the last byte |
//! | `changes` | restarts, newer tables, retired configurations |
//! | `symmetric` | rows that an evaluation opens, and the quota of evaluations |
//! | `tokens` | tokens that requests bring |
//! | `turns` | turns and limits by address |
//! | `requests` | what newer systems send |
//! | `hostile` | refusals of hostile requests; other users are unharmed |

mod changes;
pub(crate) mod harness;
mod hostile;
mod recordings;
mod requests;
mod symmetric;
mod tokens;
#[cfg(target_os = "linux")]
mod turns;
