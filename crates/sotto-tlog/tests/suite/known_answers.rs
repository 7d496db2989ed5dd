//! Real logs: the published hashes and signatures are reproduced.

use sotto_tlog::entries::BundleEntries;
use sotto_tlog::{
    Checkpoint, DirectorySource, LogError, LogKey, LogLayout, LogSource, SignedNote, SignedTreeHead,
    VerifiedLog,
};
use sotto_tree::log::{Hash, Peaks, subtree};

const XENON_NAME: &str = "ct.googleapis.com/logs/eu1/xenon2024";
const XENON_KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEuWDgNB415GUAk0+QCb1a7ETdjA/O7RE+KllGmjG2x5n33O89zY+GwjWlPtwpurvyVOKoDIMIUQbeIW02UI44TQ==";
const XENON_HEAD: &[u8] = include_bytes!("../data/xenon2024-sth.json");

const SUMDB_KEY: &str = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
const SUMDB: [&str; 2] = [
    "go.sum database tree\n6476701\nmb8QLQIs0Z0yP5Cstq6guj87oXWeC9gEM8oVikmm9Wk=\n\n\
     — sum.golang.org Az3grsLX85Gz+s1SiTbgkuqxgItqFq7gsMUEyVnrsa9LM7Us9S+1xbFIGu95949rj4nPRYfvimWEPWL+o3GeoWwOoAw=\n",
    "go.sum database tree\n15067302\ngJyioq6dwR9n+NjEWORfYmH+ubeYm3kH42BBQ0bTpYI=\n\n\
     — sum.golang.org Az3grp1rvWOs5NKlr/xR4GLN/CDyzzakmt1o61uSxYKpK1SerqOP2ClbX/peKUZjYnyomH5Xz7GZG3TpB7OeKn4E2ww=\n\
     — test.example.com qTGhC/xIPQ0AXKHK6Y+9ypRfuvMZWPjRXM8NiOg5M1WREn07VQXyuIXM3NRNav3ieVFLUqDRK77PWDmL6w8w84UqeAw=\n",
];

fn hex(text: &str) -> Hash {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

fn xenon() -> LogKey {
    format!("{XENON_NAME}+{XENON_KEY}").parse().unwrap()
}

#[test]
fn a_real_tree_head_verifies() {
    let head = SignedTreeHead::parse(XENON_HEAD).unwrap();
    let checkpoint = head.verify(&xenon()).unwrap();
    assert_eq!((checkpoint.size, checkpoint.origin.as_str()), (1_398_360_597, XENON_NAME));
    assert_eq!(checkpoint.root, hex("b408a3afa70bae9e5d25abd0a8bf88b47e70d034a024e3b4338ecb49b89d84d3"));
    let text = str::from_utf8(XENON_HEAD).unwrap();
    for (from, to) in [("1398360597", "1398360598"), ("1711579634453", "1711579634454"), ("tAijr6", "tAijr7")]
    {
        let head = SignedTreeHead::parse(text.replace(from, to).as_bytes()).unwrap();
        assert!(matches!(head.verify(&xenon()), Err(LogError::BadSignature { .. })), "{from} changed");
    }
    assert!(matches!(head.verify(&SUMDB_KEY.parse().unwrap()), Err(LogError::KeyText(_))));
}

#[test]
fn a_real_tree_head_becomes_a_checkpoint_that_verifies() {
    let head = SignedTreeHead::parse(XENON_HEAD).unwrap();
    let note = head.to_note(&xenon()).unwrap().to_string();
    let opened = Checkpoint::open(note.as_bytes(), &xenon()).unwrap();
    assert_eq!(opened, head.verify(&xenon()).unwrap());
    for (from, to) in [("1398360597", "1398360598"), ("tAijr6", "tAijr7")] {
        let changed = note.replacen(from, to, 1);
        assert!(matches!(Checkpoint::open(changed.as_bytes(), &xenon()), Err(LogError::BadSignature { .. })));
    }
    // Only size and root are signed, so the text must contain nothing else.
    let longer = note.replacen("\n\n", "\nmore\n\n", 1);
    assert!(matches!(Checkpoint::open(longer.as_bytes(), &xenon()), Err(LogError::Malformed { .. })));
    // The key id covers the name: under another name it is another key.
    let other: LogKey = format!("other+{XENON_KEY}").parse::<LogKey>().unwrap().with_origin(XENON_NAME);
    assert!(matches!(Checkpoint::open(note.as_bytes(), &other), Err(LogError::NotSigned { .. })));
}

#[test]
fn real_checkpoints_of_gos_database_verify() {
    let key: LogKey = SUMDB_KEY.parse().unwrap();
    assert_eq!(key.to_string(), SUMDB_KEY);
    let named = key.clone().with_origin("go.sum database tree");
    for (note, size) in SUMDB.into_iter().zip([6_476_701, 15_067_302]) {
        assert_eq!(Checkpoint::open(note.as_bytes(), &named).unwrap().size, size);
        assert_eq!(SignedNote::parse(note.as_bytes()).unwrap().to_string(), note);
        assert!(matches!(Checkpoint::open(note.as_bytes(), &key), Err(LogError::WrongOrigin { .. })));
        let changed = note.replacen('7', "8", 1);
        assert!(matches!(Checkpoint::open(changed.as_bytes(), &named), Err(LogError::BadSignature { .. })));
    }
}

fn navigli() -> DirectorySource {
    DirectorySource(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/navigli2025h2").into())
}

fn tile(path: &str) -> Vec<Hash> {
    let bytes = navigli().file(path, 8192).unwrap().unwrap();
    bytes.as_chunks::<32>().0.to_vec()
}

#[test]
fn real_certificates_hash_to_the_leaves_that_were_published() {
    let path = LogLayout::StaticCt.bundle(3, 10);
    let bytes = navigli().file(&path, 1 << 20).unwrap().unwrap();
    let entries: Vec<_> =
        BundleEntries::new(LogLayout::StaticCt, &bytes, 768, &path).map(Result::unwrap).collect();
    assert_eq!(entries.iter().map(|entry| entry.leaf).collect::<Vec<_>>(), tile("tile/0/003.p/10"));
    assert_eq!(entries.iter().map(|entry| entry.written).collect::<Vec<_>>().concat(), bytes);
    // A truncated bundle yields the same entries up to an error.
    for cut in (1..bytes.len()).step_by(97) {
        let mut left = BundleEntries::new(LogLayout::StaticCt, &bytes[..cut], 768, &path);
        let whole = left.by_ref().take_while(Result::is_ok).count();
        assert!(whole < 10 && left.next().is_none());
    }
}

/// Leaves and root of tree heads over the sample.
const ROOTS: [(usize, &str); 2] = [
    (778, "f969c738c45997f2c6d7aebda1eb246dd2bd6dc3b89e4ad8d5c7d5ca49c2e765"),
    (1024, "10c7c61bce6e21d75e397b79ff075018fdc841dd02382aa82e0f50e82b0f2c90"),
];

#[test]
fn real_tiles_have_the_roots_that_are_known() {
    let tiles: Vec<Vec<Hash>> = (0..4).map(|n| tile(&format!("tile/0/{n:03}"))).collect();
    let tops = [
        "6c80217987879103977872b0d0f2a3b6d989da11ad194fd50f15396f44806fe7",
        "e36486bed68531bb26a4d3d317506620bd66f6b2731e306d65a20e18ca3769c1",
        "135816f749a0354a227b239f85824ea2f746cf94eef8c9452632554b22aa04af",
        "a3847a463cb907038fad5b3472e5dbdbbb6b548aa0b121138ff49f6d3cb45bfe",
    ];
    for (tile, top) in tiles.iter().zip(tops) {
        assert_eq!(subtree::root(tile).unwrap(), hex(top));
    }
    for (size, root) in ROOTS {
        let mut peaks = Peaks::new();
        tiles.concat()[..size].iter().for_each(|leaf| peaks.append(*leaf, |_| {}));
        assert_eq!(peaks.root(), hex(root));
    }
}

/// A real log can be read. The sample has no tile above, so one is made; a length within a tile is
/// tested too.
#[test]
fn a_real_log_is_read() {
    let made = tempfile::tempdir().unwrap();
    let tiles: Vec<Vec<Hash>> = (0..4).map(|n| tile(&format!("tile/0/{n:03}"))).collect();
    for (n, tile) in tiles.iter().enumerate() {
        std::fs::create_dir_all(made.path().join("tile/0")).unwrap();
        std::fs::write(made.path().join(format!("tile/0/{n:03}")), tile.as_flattened()).unwrap();
    }
    let tops: Vec<Hash> = tiles.iter().map(|tile| subtree::root(tile).unwrap()).collect();
    std::fs::create_dir_all(made.path().join("tile/1/000.p")).unwrap();
    for width in [3, 4] {
        let path = made.path().join(format!("tile/1/000.p/{width}"));
        std::fs::write(path, tops[..width].as_flattened()).unwrap();
    }
    for (size, root) in ROOTS {
        let origin = "navigli2025h2.skylight.geomys.org".into();
        let checkpoint = Checkpoint { origin, size: size as u64, root: hex(root), extensions: Vec::new() };
        let mut log =
            VerifiedLog::open(DirectorySource(made.path().into()), LogLayout::StaticCt, &checkpoint).unwrap();
        let leaves = (0..log.tiles()).flat_map(|n| log.leaves(n).unwrap().to_vec()).collect::<Vec<_>>();
        assert_eq!(leaves, tiles.concat()[..size]);
    }
}
