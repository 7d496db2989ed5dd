//! Prints every parameter set of a scheme at one table, like the README's table.
//!
//! `cargo run --release -p sotto-cube --example sets -- fspiral|spiral|onionpir [ROWS] [ROW BYTES]`

use fspiral::FSpiral;
use onionpir::OnionPir;
use sotto_core::{Error, Params as _, TableShape};
use sotto_cube::{Family, Params};
use spiral::Spiral;

const HEAD: [&str; 14] = [
    "set",
    "N, log2 Q, log2 q",
    "form, n",
    "p",
    "dimensions",
    "units",
    "keys",
    "query",
    "answer",
    "log2 of the noise of: selectors, first dimension, folding, answer",
    "half a step",
    "failure",
    "written",
    "security",
];

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let scheme = args.next().unwrap_or_default();
    let rows = args.next().map_or(Ok(1 << 20), |text| text.parse())?;
    let row_bytes = args.next().map_or(Ok(256), |text| text.parse())?;
    match scheme.as_str() {
        "fspiral" => print::<FSpiral>(rows, row_bytes)?,
        "spiral" => print::<Spiral>(rows, row_bytes)?,
        "onionpir" => print::<OnionPir>(rows, row_bytes)?,
        _ => println!("name a scheme: fspiral, spiral or onionpir"),
    }
    Ok(())
}

fn print<F: Family>(rows: u64, row_bytes: u64) -> Result<(), Error> {
    println!("| {} |\n|{}", HEAD.join(" | "), "---|".repeat(HEAD.len()));
    for set in Params::<F>::sets() {
        let shape = TableShape { set: Some(set.name.to_owned()), ..TableShape::new(rows, row_bytes, 1000) };
        match Params::<F>::select(&shape).and_then(Params::<F>::check) {
            Ok(params) => println!("| `{}` | {} |", set.name, line(&params)),
            Err(Error::Params(why)) => println!("| `{}` | {why} |", set.name),
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

fn line<F: Family>(params: &Params<F>) -> String {
    let (report, literal, noise) = (params.report(), params.literal(), &params.noise);
    let bits = |variance: f64| format!("{:.1}", variance.log2() / 2.0);
    let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
    let (full, main) = (params.set.log2_full(), params.set.log2_q());
    let cells = [
        format!("{}, {full:.1}, {main:.1}", params.n()),
        format!("{:?}, {}", literal.form, literal.n).to_lowercase(),
        format!("2^{}", literal.p_log2),
        format!("{} x 2^{}", literal.rows, literal.nu2),
        params.grid.units().to_string(),
        kib(report.costs.keys_bytes),
        kib(report.costs.query_bytes),
        kib(report.costs.answer_bytes),
        [noise.selector, noise.first, noise.folded, noise.packed].map(bits).join(", "),
        format!("{:.1}", main - f64::from(literal.p_log2) - 1.0),
        format!("2^{:.0}", report.failure_log2),
        literal.written.to_string(),
        format!("{:.1}", report.security.bits),
    ];
    cells.join(" | ")
}
