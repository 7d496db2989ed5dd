//! A report as a drawing, of measured figures only. Time of one lookup, the effect of batching, and
//! proofs over the height of their trees.

mod batches;
mod canvas;
mod lookups;
mod steps;
mod trees;

use super::Report;
use super::format::wrapped;
use canvas::{Canvas, HEIGHT_OF_HEAD, WIDTH};

/// Colors that stay apart for color-blind readers (Okabe and Ito).
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b"];

impl Report {
    /// An SVG image of the measured figures.
    pub fn svg(&self) -> String {
        let names: Vec<&str> = self.definitions.iter().map(|d| d.name.as_str()).collect();
        let mut canvas = Canvas::new();
        canvas.title(24.0, 34.0, &format!("sotto bench: {}", names.join(", ")));
        let mut y = HEIGHT_OF_HEAD;
        for line in wrapped(&self.machine.line(), 145) {
            canvas.small(24.0, y - 20.0, line.trim());
            y += 15.0;
        }
        y -= 15.0;
        if self.measured.is_empty() && self.trees.measured.is_empty() {
            canvas.text(24.0, y + 20.0, "Nothing was measured: every case was skipped.");
            y += 44.0;
        } else if !self.measured.is_empty() {
            y = lookups::draw(&mut canvas, &self.measured, y);
            y = batches::draw(&mut canvas, &self.measured, y);
            y = steps::draw(&mut canvas, &self.measured, y);
            y = steps::break_evens(&mut canvas, &self.measured, y);
        }
        y = trees::draw(&mut canvas, &self.trees.measured, y);
        canvas.finish(WIDTH, y)
    }
}

fn color(i: usize) -> &'static str {
    COLORS.get(i % COLORS.len()).copied().unwrap_or("#000")
}

/// A case in a few words.
fn label(case: &super::MeasuredCase) -> String {
    let threads =
        if case.threads_count > 1 { format!(", {} threads", case.threads_count) } else { String::new() };
    format!("{}, {}{threads}", case.method.title, case.table.shape)
}
