//! Panels: figures over the height of binary trees, a curve for each line, both scales logarithmic in what grows.

use super::canvas::{Anchor, Canvas, WIDTH};
use super::color;
use crate::report::format::{decimal, time};
use crate::report::trees::{QUESTIONS, Question, TreeMeasured};

const LEFT: f64 = 90.0;
const RIGHT: f64 = WIDTH - 250.0;
const HEIGHT: f64 = 280.0;

/// Draws a panel for each question that was answered for several heights, from `top` down; returns
/// the lower end.
pub(super) fn draw(canvas: &mut Canvas, measured: &[TreeMeasured], mut top: f64) -> f64 {
    for question in QUESTIONS {
        top = panel(canvas, question, measured, top);
    }
    top
}

fn panel(canvas: &mut Canvas, question: &Question, measured: &[TreeMeasured], top: f64) -> f64 {
    let known: Vec<(&TreeMeasured, f64)> = measured
        .iter()
        .filter(|m| m.tree.arity_count == 2)
        .filter_map(|m| Some((m, (question.of)(&m.figures)?)))
        .filter(|(_, value)| *value > 0.0)
        .collect();
    let heights = || known.iter().map(|(m, _)| m.tree.height_count as f64);
    let (low, high) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
    if low >= high {
        return top;
    }
    let powers = || known.iter().map(|(_, value)| value.log10());
    let (bottom_power, top_power) =
        (powers().fold(f64::INFINITY, f64::min).floor(), powers().fold(-9.0, f64::max).ceil());
    let top_power = top_power.max(bottom_power + 1.0);
    canvas.heading(24.0, top + 22.0, &format!("Proofs in binary trees: {}", question.title));
    canvas.small(24.0, top + 40.0, question.note);
    let (first, bottom) = (top + 60.0, top + 60.0 + HEIGHT);
    let x = |height: f64| LEFT + 14.0 + (RIGHT - LEFT - 28.0) * (height - low) / (high - low);
    let y = |value: f64| bottom - HEIGHT * (value.log10() - bottom_power) / (top_power - bottom_power);
    for power in bottom_power as i32..=top_power as i32 {
        let value = 10f64.powi(power);
        canvas.line((LEFT, y(value)), (RIGHT, y(value)), "#e3e3e3", 1.0, false);
        let text = if question.bytes { decimal(value as u64) } else { time(value) };
        canvas.anchored(LEFT - 8.0, y(value) + 4.0, Anchor::End, "#666", &text);
    }
    let mut marks: Vec<u64> = known.iter().map(|(m, _)| m.tree.height_count).collect();
    marks.sort_unstable();
    marks.dedup();
    for mark in marks {
        canvas.anchored(x(mark as f64), bottom + 18.0, Anchor::Middle, "#666", &mark.to_string());
    }
    canvas.anchored((LEFT + RIGHT) / 2.0, bottom + 36.0, Anchor::Middle, "#666", "height of the tree");
    let mut lines: Vec<&str> = Vec::new();
    for (m, _) in &known {
        if !lines.contains(&m.line.as_str()) {
            lines.push(&m.line);
        }
    }
    let mut legend = first + 14.0;
    for (i, line) in lines.iter().enumerate() {
        let of = known.iter().filter(|(m, _)| m.line == *line);
        let points: Vec<(f64, f64)> =
            of.map(|(m, value)| (x(m.tree.height_count as f64), y(*value))).collect();
        canvas.curve(&points, color(i));
        canvas.bar(RIGHT + 26.0, legend - 9.0, 14.0, 10.0, color(i));
        canvas.text(RIGHT + 48.0, legend, line);
        legend += 22.0;
    }
    (bottom + 54.0).max(legend)
}
