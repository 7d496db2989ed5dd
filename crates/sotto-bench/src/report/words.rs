//! Text broken between words, so that no line is wider than the tables.

/// Lines of at most `width` characters, except where a single word is longer; all but the first indented.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, "   ".to_owned()));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("a line", 20), ["a line"]);
        assert_eq!(wrapped("one two three four", 10), ["one two", "    three", "    four"]);
        assert_eq!(wrapped("unbreakablyLong x", 5), ["unbreakablyLong", "    x"]);
    }
}
