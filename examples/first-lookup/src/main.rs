//! Looks one row up privately: `cargo run -p first-lookup -- URL TABLE KEY ROW`.
//!
//! `sotto serve` prints the address and the key.
#![forbid(unsafe_code)]

use sotto_client::Table;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, table, key, row] = args.as_slice() else {
        return Err("give four arguments: URL TABLE KEY ROW".into());
    };
    println!("{}", look_up(url, table, key, row.parse()?)?);
    Ok(())
}

/// The row as text, and what it cost.
pub(crate) fn look_up(url: &str, table: &str, key: &str, row: u64) -> Result<String, Box<dyn Error>> {
    let mut table = Table::connect(url, table).pin(key.parse()?).open()?;
    let value: Vec<u8> = table.get(row)?;
    let cost = table.last_lookup().ok_or("one lookup was made")?;
    let text = String::from_utf8_lossy(&value);
    Ok(format!("{text} ({} bytes up, {} down)", cost.up, cost.down))
}
