//! What was found in a file, and what its owner should hear of it.

use crate::table::BlockRule;
use serde::Serialize;

/// What was found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Notes {
    /// Lines read, the header not counted.
    pub lines: u64,
    /// Rows no line was for; they hold zero bytes.
    pub missing_rows: u64,
    /// Blocks with keys of more than one value, of which a row can hold only one.
    pub mixed_blocks: u64,
    /// Lines of a CSV file that begin with `#`, and were read as all others are.
    pub comment_lines: u64,
    /// What may part the columns of a CSV file that has a single one with this in each line.
    pub undivided: Option<char>,
    /// Keys of a set that were there before.
    pub repeated_keys: u64,
    /// Keys that begin with `*.`, which is a key of its own.
    pub wildcard_keys: u64,
    /// Keys of text that are telephone numbers with spaces or other signs between the digits.
    pub spaced_numbers: u64,
    /// Keys of text that are hashes in hexadecimal digits, of which one case is another key.
    pub digest_keys: u64,
}

impl Notes {
    /// What the file's owner should know, each in a sentence with its remedy.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut add = |count: u64, remark: &str| {
            if count > 0 {
                remarks.push(format!("{count} {remark}"));
            }
        };
        add(self.missing_rows, "rows had no line in the file and hold zero bytes");
        add(self.mixed_blocks, "blocks have keys of several values, of which a row holds one (see --rule)");
        add(
            self.comment_lines,
            "lines begin with #, and were read as all others are: take comments out of the file",
        );
        add(self.repeated_keys, "keys were in the file before, and are in the table once");
        add(
            self.wildcard_keys,
            "keys begin with *., and each is a key of its own: nobody who asks for a name below it finds it; give the name \
             without *., and have clients ask for each parent of a name",
        );
        add(
            self.spaced_numbers,
            "keys are telephone numbers with signs between the digits, as no phone asks for them: --form phone takes them \
             without",
        );
        add(
            self.digest_keys,
            "keys are hexadecimal digits and told apart by case: --form md5, sha1 or sha256 takes either case",
        );
        if let Some(delimiter) = self.undivided {
            let delimiter = delimiter.escape_default();
            remarks.push(format!(
                "each line has one column, with {delimiter} in it: if that parts columns, say so (--delimiter '{delimiter}')"
            ));
        }
        remarks
    }
}

/// What to say of blocks that ranges of an update cover in part.
pub(crate) fn of_partial_blocks(blocks: u64, rule: BlockRule) -> Option<String> {
    let of_rule = match rule {
        BlockRule::First => "one changes if its first key does (--rule first)",
        BlockRule::Most => {
            "one changes if that is the value of most of its keys, as if the others had its value until now (--rule most)"
        }
    };
    (blocks > 0).then(|| format!("{blocks} blocks are covered in part, and hold one value each: {of_rule}"))
}

/// Bytes of an image that need no remark, whatever the file.
const DEFAULT_IMAGE_BYTES: u64 = 64 << 20;

/// An image of more than so many times the file's bytes is worth a remark.
const DEFAULT_RATIO: u64 = 100;

/// What to say of an image that is out of proportion to its file.
pub fn out_of_proportion(image_bytes: u64, file_bytes: u64) -> Option<String> {
    (image_bytes > DEFAULT_IMAGE_BYTES && image_bytes / DEFAULT_RATIO > file_bytes).then(|| {
        format!(
            "the image has {} MiB, for a file of {file_bytes} bytes: `sotto plan` shows schemes with smaller ones; a range table \
             gets smaller with larger blocks (--block), or between --first and --last; an index table without gaps (--row)",
            image_bytes >> 20
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_out_of_proportion_is_remarked() {
        let (mib, gib) = (1 << 20, 1 << 30);
        assert_eq!(out_of_proportion(DEFAULT_IMAGE_BYTES, 7), None, "small tables have their minimum");
        assert_eq!(out_of_proportion(2 * gib, gib), None);
        assert!(out_of_proportion(2 * gib, 90).unwrap().contains("2048 MiB, for a file of 90 bytes"));
        assert!(out_of_proportion(864 * mib, 200_000).unwrap().contains("--block"));
    }
}
