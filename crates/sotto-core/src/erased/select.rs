//! Selection of parameters for a table. Only encoders choose; a client never does.

use super::canonical;
use crate::{Params, ParamsError, Result, Scheme, TableShape};

/// Chooses parameters of the scheme for a table.
pub(super) fn of<S: Scheme>(shape: &TableShape) -> Result<Vec<u8>> {
    if let Some(wanted) = &shape.set {
        let names: Vec<&str> = S::Params::sets().iter().map(|set| set.name).collect();
        if !names.contains(&wanted.as_str()) {
            let why = match names.as_slice() {
                [] => format!("{} has no named parameter sets", S::ID),
                names => format!("{} has no set of that name; it has {}", S::ID, names.join(", ")),
            };
            return Err(ParamsError::Field { field: "set", why }.into());
        }
    }
    fits::<S>(shape)?;
    let literal = S::Params::select(shape)?;
    S::Params::check(literal.clone())?;
    canonical::<S>(&literal)
}

/// Refuses a table of buckets that the scheme does not support.
fn fits<S: Scheme>(shape: &TableShape) -> Result<()> {
    let why = match shape.buckets {
        0 => "a table has one bucket at least".to_owned(),
        1 => return Ok(()),
        _ if S::CAPS.batch.is_none() => {
            format!("a query of {} asks for one record, not for one of each bucket", S::ID)
        }
        buckets if shape.rows.is_multiple_of(buckets) => return Ok(()),
        buckets => format!("{} rows are no {buckets} equal buckets", shape.rows),
    };
    Err(ParamsError::Field { field: "buckets", why }.into())
}
