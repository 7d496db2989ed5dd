//! Panel: throughput against the number of lookups answered in one pass.

use super::canvas::{Anchor, Canvas, WIDTH, ticks};
use super::{color, label};
use crate::report::{Batch, MeasuredCase};

const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 270.0;
const HEIGHT: f64 = 280.0;

/// Draws from `top` down, if any case has more than one batch size; returns the lower end.
pub(super) fn draw(canvas: &mut Canvas, measured: &[MeasuredCase], top: f64) -> f64 {
    let cases: Vec<(usize, &MeasuredCase)> =
        measured.iter().enumerate().filter(|(_, m)| m.batches.len() > 1).collect();
    if cases.is_empty() {
        return top + 8.0;
    }
    canvas.heading(24.0, top + 22.0, "Lookups answered in one pass: GB of table per second, times lookups");
    canvas.small(
        24.0,
        top + 40.0,
        "Above the dashed line a server answers more than it could by reading the table \
    once for each lookup.",
    );
    let (first, bottom) = (top + 60.0, top + 60.0 + HEIGHT);
    let batches = || cases.iter().flat_map(|(_, m)| &m.batches);
    let read = middle(batches().map(|b| b.read_memory_gb_per_s));
    let fastest =
        batches().map(|b| b.aggregate_gb_per_s).chain([read]).filter(|g| g.is_finite()).fold(1e-3, f64::max);
    let y = |gb: f64| bottom - HEIGHT * (gb / fastest / 1.05).clamp(0.0, 1.0);
    // Batches double, so their logarithm is what is spaced evenly.
    let widest = batches().map(|b| b.batch_count).max().unwrap_or(2).max(2) as f64;
    let x = |b: &Batch| LEFT + 14.0 + (RIGHT - LEFT - 28.0) * (b.batch_count as f64).log2() / widest.log2();

    for tick in ticks(fastest * 1.05) {
        canvas.line((LEFT, y(tick)), (RIGHT, y(tick)), "#e3e3e3", 1.0, false);
        canvas.anchored(LEFT - 8.0, y(tick) + 4.0, Anchor::End, "#666", &format!("{tick}"));
    }
    let mut marks: Vec<&Batch> = batches().collect();
    marks.sort_by_key(|b| b.batch_count);
    marks.dedup_by_key(|b| b.batch_count);
    for mark in marks {
        canvas.anchored(x(mark), bottom + 18.0, Anchor::Middle, "#666", &mark.batch_count.to_string());
    }
    canvas.anchored((LEFT + RIGHT) / 2.0, bottom + 36.0, Anchor::Middle, "#666", "lookups in one pass");
    canvas.line((LEFT, y(read)), (RIGHT, y(read)), "#111", 1.5, true);
    for (slot, (i, case)) in cases.iter().enumerate() {
        let points: Vec<(f64, f64)> = case.batches.iter().map(|b| (x(b), y(b.aggregate_gb_per_s))).collect();
        canvas.curve(&points, color(*i));
        let legend = first + 14.0 + 22.0 * (slot + 1) as f64;
        canvas.bar(RIGHT + 26.0, legend - 9.0, 14.0, 10.0, color(*i));
        canvas.text(RIGHT + 48.0, legend, &label(case));
    }
    canvas.line((RIGHT + 26.0, first + 10.0), (RIGHT + 40.0, first + 10.0), "#111", 1.5, true);
    canvas.text(RIGHT + 48.0, first + 14.0, &format!("plain read of memory, {read:.1} GB/s"));
    let legend_end = first + 30.0 + 22.0 * cases.len() as f64;
    (bottom + 54.0).max(legend_end)
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
