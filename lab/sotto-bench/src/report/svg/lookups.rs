//! Panel: the server's time for one lookup, next to the time of reading the same bytes.

use super::canvas::{Anchor, Canvas, WIDTH, ticks};
use super::{color, label};
use crate::report::MeasuredCase;
use crate::report::format::time;

const LEFT: f64 = 250.0;
const RIGHT: f64 = WIDTH - 160.0;
const ROW: f64 = 30.0;

/// Draws from `top` down; returns the lower end.
pub(super) fn draw(canvas: &mut Canvas, measured: &[MeasuredCase], top: f64) -> f64 {
    canvas.heading(24.0, top + 22.0, "Server time of one lookup, milliseconds");
    canvas.small(
        24.0,
        top + 40.0,
        "Black marks: a plain read of the same bytes, in turns with the scan. Percent: rate of the scan \
         relative to the read.",
    );
    let (first, longest) = (top + 58.0, longest(measured));
    let bottom = first + ROW * measured.len() as f64;
    let x = |ms: f64| LEFT + (RIGHT - LEFT) * (ms / longest).clamp(0.0, 1.0);
    for tick in ticks(longest) {
        canvas.line((x(tick), first - 4.0), (x(tick), bottom), "#e3e3e3", 1.0, false);
        canvas.anchored(x(tick), bottom + 16.0, Anchor::Middle, "#666", &format!("{tick}"));
    }
    for (i, case) in measured.iter().enumerate() {
        let y = first + ROW * i as f64;
        canvas.anchored(LEFT - 10.0, y + 17.0, Anchor::End, "#222", &label(case));
        let Some(batch) = case.batches.first() else { continue };
        canvas.bar(LEFT, y + 4.0, x(batch.server_ms) - LEFT, ROW - 10.0, color(i));
        let floor = x(batch.server_ms * batch.of_read_held_ratio);
        canvas.line((floor, y + 1.0), (floor, y + ROW - 3.0), "#111", 2.0, false);
        let share = batch.of_read_held_ratio * 100.0;
        let text = format!("{}, {share:.0} %", time(batch.server_ms));
        canvas.anchored(x(batch.server_ms).max(floor) + 8.0, y + 18.0, Anchor::Start, "#222", &text);
    }
    bottom + 34.0
}

fn longest(measured: &[MeasuredCase]) -> f64 {
    let batches = measured.iter().filter_map(|m| m.batches.first());
    batches
        .map(|b| b.server_ms * b.of_read_held_ratio.max(1.0))
        .filter(|ms| ms.is_finite())
        .fold(1e-3, f64::max)
}
