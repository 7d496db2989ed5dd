//! Shapes and words of a drawing; text is escaped here and nowhere else.

use std::fmt::Write;

/// Width of every drawing.
pub(super) const WIDTH: f64 = 880.0;
/// Height of title and machine.
pub(super) const HEIGHT_OF_HEAD: f64 = 76.0;

/// Where a text stands in relation to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing in progress.
pub(super) struct Canvas(String);

impl Canvas {
    pub(super) fn new() -> Self {
        Canvas(String::new())
    }

    /// The document.
    pub(super) fn finish(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"Inter, Helvetica, Arial, DejaVu Sans, sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.0
        )
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing into a `String` cannot fail.
        let _ = writeln!(self.0, "{element}");
    }

    pub(super) fn title(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"20\" font-weight=\"600\" fill=\"#111\">{text}</text>"
        ));
    }

    pub(super) fn heading(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"15\" font-weight=\"600\" fill=\"#222\">{text}</text>"
        ));
    }

    pub(super) fn small(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\" font-size=\"11\" fill=\"#666\">{text}</text>"));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str) {
        self.anchored(x, y, Anchor::Start, "#222", text);
    }

    pub(super) fn anchored(&mut self, x: f64, y: f64, anchor: Anchor, fill: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>"
        ));
    }

    pub(super) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\" fill=\"{fill}\"/>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64, dashed: bool) {
        let dash = if dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        self.add(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{stroke}\" stroke-width=\"{width}\"{dash}/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(super) fn curve(&mut self, points: &[(f64, f64)], stroke: &str) {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        self.add(format_args!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2.5\"/>"
        ));
        for (x, y) in points {
            self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{stroke}\"/>"));
        }
    }
}

/// Steps of 1, 2 or 5 times a power of ten, at most six of them up to `top`.
pub(super) fn ticks(top: f64) -> Vec<f64> {
    let top = if top.is_finite() && top > 0.0 { top } else { 1.0 };
    let power = 10f64.powf((top / 6.0).log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| top / s <= 6.0).unwrap_or(10.0 * power);
    (0..=(top / step).floor() as u32).map(|i| f64::from(i) * step).collect()
}

fn escaped(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .map(|c| match c {
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '&' => "&amp;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(57.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(f64::NAN).len(), 6);
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot;");
    }
}
