//! Apple's private lookups over HTTP.
//!
//! | module | what it shows |
//! |---|---|
//! | `kit` | use cases in files, and a client of one, with a user's name |
//! | `recorded` | a whole session of Apple's own client, to the last byte |
//! | `changes` | restarts, newer tables, retired configurations |
//! | `symmetric` | rows that an evaluation opens, and how many of these there are |
//! | `tokens` | tokens that requests bring |
//! | `turns` | turns and places by address |
//! | `requests` | what newer systems send |
//! | `hostile` | what is refused, and how; others are unharmed |

mod changes;
mod hostile;
pub(crate) mod kit;
mod recorded;
mod requests;
mod symmetric;
mod tokens;
#[cfg(target_os = "linux")]
mod turns;
