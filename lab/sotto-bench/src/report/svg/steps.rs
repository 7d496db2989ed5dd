//! Panels: the steps of an answer as parts of a bar, and the links on which a lookup pays.

use super::canvas::{Anchor, Canvas, WIDTH, ticks};
use super::color;
use crate::report::format::{digits, time};
use crate::report::{MeasuredCase, StepReport};
use sotto_core::ExpectOrDefault;

const LEFT: f64 = 330.0;
const RIGHT: f64 = WIDTH - 110.0;
const ROW: f64 = 26.0;

/// Draws a panel for each table, since their times differ by factors; returns the lower end.
pub(super) fn draw(canvas: &mut Canvas, measured: &[MeasuredCase], mut top: f64) -> f64 {
    for cases in measured.chunk_by(|a, b| a.table == b.table) {
        let lines: Vec<(&MeasuredCase, &StepReport)> =
            cases.iter().flat_map(|case| case.steps.iter().map(move |line| (case, line))).collect();
        if !lines.is_empty() {
            top = panel(canvas, &lines, top);
        }
    }
    top
}

fn panel(canvas: &mut Canvas, lines: &[(&MeasuredCase, &StepReport)], top: f64) -> f64 {
    let shape = lines.first().map_or("", |(case, _)| case.table.shape.as_str());
    canvas.heading(24.0, top + 22.0, &format!("One answer step by step, milliseconds: {shape}"));
    let mut names: Vec<&str> = Vec::new();
    for step in lines.iter().flat_map(|(_, line)| &line.steps) {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    for (i, name) in names.iter().enumerate() {
        let x = 24.0 + 130.0 * i as f64;
        canvas.bar(x, top + 35.0, 14.0, 10.0, color(i));
        canvas.text(x + 20.0, top + 44.0, name);
    }
    let (first, longest) = (top + 62.0, lines.iter().map(|(_, line)| line.server_ms).fold(1e-3, f64::max));
    let bottom = first + ROW * lines.len() as f64;
    let width = |ms: f64| (RIGHT - LEFT) * (ms / longest).clamp(0.0, 1.0);
    for tick in ticks(longest) {
        let x = LEFT + width(tick);
        canvas.line((x, first - 4.0), (x, bottom), "#e3e3e3", 1.0, false);
        canvas.anchored(x, bottom + 16.0, Anchor::Middle, "#666", &format!("{tick}"));
    }
    for (i, (case, line)) in lines.iter().enumerate() {
        let y = first + ROW * i as f64;
        let threads = if line.threads_count > 1 {
            format!("{} threads", line.threads_count)
        } else {
            "one thread".to_owned()
        };
        let label = format!("{}, {}, {threads}", case.method.title, line.order);
        canvas.anchored(LEFT - 10.0, y + 16.0, Anchor::End, "#222", &label);
        let mut x = LEFT;
        for step in &line.steps {
            let at = names
                .iter()
                .position(|name| *name == step.name)
                .expect_or_default("every step is among the names");
            canvas.bar(x, y + 4.0, width(step.server_ms), ROW - 9.0, color(at));
            x += width(step.server_ms);
        }
        canvas.anchored(x.min(RIGHT) + 8.0, y + 16.0, Anchor::Start, "#222", &time(line.server_ms));
    }
    bottom + 34.0
}

/// Draws the rates below which lookups pay, on a logarithmic scale; returns the lower end.
pub(super) fn break_evens(canvas: &mut Canvas, measured: &[MeasuredCase], top: f64) -> f64 {
    let lines: Vec<(&MeasuredCase, f64)> = measured
        .iter()
        .filter_map(|case| Some((case, case.break_even.as_ref()?.below_mbit_per_s)))
        .filter(|(_, rate)| *rate > 0.0)
        .collect();
    if lines.is_empty() {
        return top;
    }
    canvas.heading(24.0, top + 22.0, "Links on which a lookup is faster than downloading the table, Mbit/s");
    canvas.small(
        24.0,
        top + 40.0,
        "Left of the end of a bar. Work of client and server, on the threads of each case.",
    );
    let (first, bottom) = (top + 58.0, top + 58.0 + ROW * lines.len() as f64);
    let powers = || lines.iter().map(|(_, rate)| rate.log10());
    let (low, high) = (powers().fold(0.0, f64::min).floor(), powers().fold(1.0, f64::max).ceil());
    let x = |rate: f64| LEFT + (RIGHT - LEFT) * (rate.log10() - low) / (high - low);
    for power in low as i32..=high as i32 {
        let at = x(10f64.powi(power));
        canvas.line((at, first - 4.0), (at, bottom), "#e3e3e3", 1.0, false);
        canvas.anchored(at, bottom + 16.0, Anchor::Middle, "#666", &digits(10f64.powi(power)));
    }
    for (i, (case, rate)) in lines.iter().enumerate() {
        let y = first + ROW * i as f64;
        canvas.anchored(LEFT - 10.0, y + 16.0, Anchor::End, "#222", &super::label(case));
        canvas.bar(LEFT, y + 4.0, x(*rate) - LEFT, ROW - 9.0, color(i));
        canvas.anchored(x(*rate) + 8.0, y + 16.0, Anchor::Start, "#222", &digits(*rate));
    }
    bottom + 34.0
}
