//! Image files. The first page is guarded by a digest, so a mutated one is given its own digest: what a
//! careless writer, or a malicious one, could have made.

use sotto_catalog::SigningKey;
use sotto_core::Epoch;
use sotto_db::image::header::{HEADER_BYTES, ImageHeader};
use sotto_db::{
    EncodeOptions, ImageFile, Retention, TableDir, TableSource, UpdateOptions, encode_table, retain,
    update_table,
};
use sotto_registry::{SCHEMES, find};
use sotto_testkit::CLEAR_ROWS;
use sotto_testkit::rng::seeded;
use std::fs;
use std::ops::Range;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Where the first page keeps its digest; `spec/image.md` draws it.
const DIGEST: Range<usize> = 32..64;

fn with_digest(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if let Some(page) = bytes.get_mut(..HEADER_BYTES) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&page[..DIGEST.start]).update(&page[DIGEST.end..]);
        page[DIGEST].copy_from_slice(hasher.finalize().as_bytes());
    }
    bytes
}

/// The first page.
pub(crate) fn image_header(data: &[u8]) -> bool {
    let file_bytes = SEED.len() as u64;
    let parse = |page: &[u8]| {
        ImageHeader::parse(page, file_bytes).is_ok_and(|header| {
            for entry in &header.entries {
                assert!(entry.offset >= HEADER_BYTES as u64 && entry.offset + entry.bytes <= file_bytes);
                assert_eq!(entry.offset % entry.part.alignment(), 0);
            }
            true
        })
    };
    let page = data.get(..HEADER_BYTES).unwrap_or(data);
    parse(page) | parse(&with_digest(page))
}

/// The first page of an image.
pub(crate) fn headers() -> Vec<Vec<u8>> {
    vec![SEED[..HEADER_BYTES].to_vec()]
}

/// A whole file: opened, its sections verified, a server made of it.
pub(crate) fn image_file(data: &[u8]) -> bool {
    let folder = folder();
    let path = folder.path().join("t.sotto");
    fs::write(&path, with_digest(data)).expect("a temporary file");
    let Ok(image) = ImageFile::open(&path) else {
        // What is left of an old image is a file of the same format.
        return ImageFile::open_remnant(&path).is_ok_and(|remnant| remnant.verify(&|_| ()).is_ok());
    };
    let whole = image.verify(&|_| ()).is_ok();
    let params = image.catalog().params.to_string();
    let entry = find(&image.catalog().scheme);
    whole & entry.is_some_and(|entry| (entry.server.open)(params.as_bytes(), image).is_ok())
}

/// An image, and what is left of one.
pub(crate) fn files() -> Vec<Vec<u8>> {
    vec![SEED.clone(), remnant()]
}

fn remnant() -> Vec<u8> {
    let folder = folder();
    let dir = TableDir::create(&folder.path().join("t")).unwrap();
    let lock = dir.lock().unwrap();
    encode_table(&CLEAR_ROWS, &Zeros, &lock, &options(), &|_| ()).unwrap();
    let changes = folder.path().join("changes.csv");
    for row in [1, 2] {
        fs::write(&changes, format!("{row},07\n")).unwrap();
        let options = UpdateOptions { threads: Some(1), ..UpdateOptions::new(&KEY) };
        update_table(&CLEAR_ROWS, &lock, Some(&changes), &options, &|_| ()).unwrap();
    }
    retain(&lock, Retention { images: 1, deltas: 2 }, &|_| ()).unwrap();
    fs::read(dir.remnant_path(Epoch(2))).unwrap()
}

/// A folder that goes away, in memory where the system has a place for that.
pub(crate) fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a temporary folder")
}

/// Signing key of all images here.
pub(crate) static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::generate(&mut seeded("fuzz")));

/// An image of table `t`.
pub(crate) static SEED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = folder();
    let dir = TableDir::create(&folder.path().join("t")).unwrap();
    let summary = encode_table(SCHEMES[0], &Zeros, &dir.lock().unwrap(), &options(), &|_| ()).unwrap();
    fs::read(summary.image).unwrap()
});

fn options() -> EncodeOptions<'static> {
    EncodeOptions { threads: Some(1), ..EncodeOptions::new("t".parse().unwrap(), &KEY) }
}

/// A small table.
struct Zeros;

impl TableSource for Zeros {
    fn rows(&self) -> u64 {
        64
    }
    fn row_bytes(&self) -> usize {
        1
    }
    fn read(&self, _: u64, out: &mut [u8]) -> sotto_core::Result<()> {
        out.fill(0);
        Ok(())
    }
}
