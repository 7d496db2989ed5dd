//! Text files: UTF-8 after an optional byte order mark. Every reader of lines opens text through
//! this module.
//!
//! Some programs put a mark before UTF-8 (EF BB BF), which is not part of the text. Others write
//! UTF-16, with or without a mark. UTF-16 is refused, since its bytes can be valid UTF-8 with zero
//! bytes between them, and no client would find such keys.

use std::io::{self, Chain, Cursor, Read};

/// Number of bytes from which the encoding is detected.
const HEAD_BYTES: u64 = 4096;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a text file after its byte order mark.
pub type Text<R> = Chain<Cursor<Vec<u8>>, R>;

/// Starts to read a text file.
///
/// # Errors
/// The errors of reading; [`io::ErrorKind::InvalidData`] for UTF-16 and UTF-32.
pub fn open<R: Read>(mut bytes: R) -> io::Result<Text<R>> {
    let mut head = Vec::new();
    bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    if let Some(encoding) = foreign(&head) {
        let why =
            format!("the text is {encoding}, expected UTF-8: convert it (iconv -f {encoding} -t UTF-8)");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    if head.starts_with(UTF8_MARK) {
        head.drain(..UTF8_MARK.len());
    }
    Ok(Cursor::new(head).chain(bytes))
}

/// Name of the encoding of text that is not UTF-8, detected by its first bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => unmarked(head),
    }
}

/// Name of the encoding of UTF-16 text without a byte order mark. In each pair, one byte is zero
/// for every character of Latin-1, always at the same position.
fn unmarked(head: &[u8]) -> Option<&'static str> {
    let (pairs, rest) = head.as_chunks::<2>();
    let zeros = |at: fn(&[u8; 2]) -> u8| pairs.iter().filter(|pair| at(pair) == 0).count();
    let found = match (zeros(|[first, _]| *first), zeros(|[_, second]| *second)) {
        (0, zeros) => zeros.gt(&0).then_some(("UTF-16LE", zeros)),
        (zeros, 0) => Some(("UTF-16BE", zeros)),
        _ => None,
    };
    let (encoding, zeros) = found?;
    (rest.is_empty() && 2 * zeros >= pairs.len()).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf8_behind_a_mark_or_not() {
        let read = |bytes: &[u8]| {
            let mut text = String::new();
            open(bytes)?.read_to_string(&mut text).map(|_| text)
        };
        let utf16 = |text: &str, byte_order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(byte_order).collect()
        };
        let long = "word\n".repeat(3000);
        for text in ["", "a", "a\n", "\u{feff}", "ä,ö\n", long.as_str()] {
            let marked = format!("\u{feff}{text}");
            assert_eq!(read(text.as_bytes()).unwrap(), text.strip_prefix('\u{feff}').unwrap_or(text));
            assert_eq!(read(marked.as_bytes()).unwrap(), text, "one mark is taken away");
        }
        for text in ["\u{feff}a", "\u{feff}äß", "aria\nbe\n", "ä", long.as_str()] {
            for (byte_order, name) in
                [(u16::to_le_bytes as fn(u16) -> [u8; 2], "UTF-16"), (u16::to_be_bytes, "UTF-16")]
            {
                let error = read(&utf16(text, byte_order)).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                assert!(error.to_string().contains(name), "{text:?}: {error}");
            }
        }
        assert!(read(b"\xff\xfe\0\0a\0\0\0").unwrap_err().to_string().contains("UTF-32"));
        // A zero byte alone does not make the text UTF-16.
        assert!(read(b"0,a\0\n").is_ok() && read(b"ab\0\0cd").is_ok());
    }
}
