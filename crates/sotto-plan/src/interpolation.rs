//! Piecewise linear functions through measured points.

/// Points in order of `x`, each `x` once.
fn sorted(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|b, a| a.0 == b.0);
    points
}

/// Value at `x` of the piecewise linear function through points; outside of them, the value of the
/// nearest.
pub(crate) fn interpolated(points: impl Iterator<Item = (f64, f64)>, x: f64) -> f64 {
    let points = sorted(points);
    let inside = points.windows(2).find_map(|pair| match pair {
        [(x0, y0), (x1, y1)] if (*x0..=*x1).contains(&x) => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
        _ => None,
    });
    let nearest =
        if points.first().is_some_and(|first| x < first.0) { points.first() } else { points.last() };
    inside.or(nearest.map(|point| point.1)).unwrap_or_default()
}

/// Work of two points, relative to one another, from which a slope is taken: times of closer points
/// differ by chance.
const APART: f64 = 1.5;

/// Value at `x` of the piecewise linear function through points, extended beyond them by lines of
/// bounded slopes, relative to that of a line from zero. Points that are not [`APART`], or between
/// which times fall, make no line: the value is proportional to `x`.
pub(crate) fn line(points: impl Iterator<Item = (f64, f64)>, x: f64, least: f64) -> f64 {
    let points = sorted(points);
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return 0.0 };
    if x > first.0 && x < last.0 {
        return interpolated(points.into_iter(), x);
    }
    // The points next to the end, as far away as a slope needs.
    let is_apart = |a: f64, b: f64| a.max(b) >= APART * a.min(b);
    let ((x0, y0), other) = if x <= first.0 {
        (first, points.iter().find(|point| is_apart(point.0, first.0)))
    } else {
        (last, points.iter().rfind(|point| is_apart(point.0, last.0)))
    };
    let whole = y0 / x0;
    let slope = other.map_or(whole, |(x1, y1)| (y1 - y0) / (x1 - x0));
    // No constant cost is negative: what grows faster is the end of a cache, which comes once.
    let slope = if slope > 0.0 { slope.clamp(least * whole, whole) } else { whole };
    y0 + slope * (x - x0)
}
