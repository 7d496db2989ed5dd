//! Passes that an accelerator makes: the processor's bytes, whatever happens to the accelerator.

use crate::harness::*;
use sotto_core::{
    AcceleratedMatrix, Accelerator, AcceleratorError, PassProducts, PassQuery, RecordIndex, SchemeEntry,
    TableMatrix,
};
use sotto_math::matrix::{PanelLayout, QueryPlanes, scan_planes, scan_u32};
use sotto_server::table_epoch::PassMaker;
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig, TableStatus};
use sotto_testkit::rng::seeded;
use sotto_wire::{answer, query, routes};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An accelerator that is the processor, with copies of its own.
#[derive(Debug)]
struct Twin {
    max_bytes: usize,
    /// Passes until one fails, by an error or by a panic.
    passes_left: AtomicUsize,
    panics: bool,
    bytes: AtomicUsize,
    most_bytes: AtomicUsize,
    passes: AtomicUsize,
    queries: AtomicUsize,
}

impl Twin {
    fn new(max_bytes: usize) -> Self {
        Twin {
            max_bytes,
            passes_left: AtomicUsize::new(usize::MAX),
            panics: false,
            bytes: AtomicUsize::default(),
            most_bytes: AtomicUsize::default(),
            passes: AtomicUsize::default(),
            queries: AtomicUsize::default(),
        }
    }

    fn count(&self, queries: usize) -> Result<(), AcceleratorError> {
        self.passes.fetch_add(1, Relaxed);
        self.queries.fetch_add(queries, Relaxed);
        match self.passes_left.fetch_sub(1, Relaxed) {
            0 if self.panics => panic!("the driver has a bug"),
            0 => Err(AcceleratorError::Failed("the device is lost".into())),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Twin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("twin")
    }
}

/// What a server gets of a twin.
#[derive(Debug)]
struct TwinHandle(Arc<Twin>);

impl fmt::Display for TwinHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Accelerator for TwinHandle {
    fn copy(
        &self,
        matrices: &[TableMatrix<'_>],
    ) -> Result<Vec<Box<dyn AcceleratedMatrix>>, AcceleratorError> {
        let want: usize = matrices.iter().map(|matrix| matrix.panels.len()).sum();
        let left = self.0.max_bytes - self.0.bytes.load(Relaxed);
        if want > left {
            return Err(AcceleratorError::Memory { want: want as u64, left: left as u64 });
        }
        let bytes = self.0.bytes.fetch_add(want, Relaxed) + want;
        self.0.most_bytes.fetch_max(bytes, Relaxed);
        let copy = |matrix: &TableMatrix<'_>| {
            let layout = PanelLayout::new(matrix.rows, matrix.cols);
            assert_eq!(matrix.panels.len(), layout.bytes());
            Box::new(TwinMatrix { twin: self.0.clone(), layout, panels: matrix.panels.to_vec() }) as Box<_>
        };
        Ok(matrices.iter().map(copy).collect())
    }
}

struct TwinMatrix {
    twin: Arc<Twin>,
    layout: PanelLayout,
    panels: Vec<u8>,
}

impl Drop for TwinMatrix {
    fn drop(&mut self) {
        self.twin.bytes.fetch_sub(self.panels.len(), Relaxed);
    }
}

impl TwinMatrix {
    /// The words of queries, and from them the queries.
    fn planes(&self, queries: &[PassQuery<'_>]) -> Vec<QueryPlanes> {
        let planes = |query: &PassQuery<'_>| {
            let byte = |col: usize, plane: usize| {
                u64::from(query.words[col / 4 * query.planes + plane].to_le_bytes()[col % 4])
            };
            let word = |col| (0..query.planes).map(|plane| byte(col, plane) << (8 * plane)).sum();
            let words: Vec<u64> = (0..self.layout.cols()).map(word).collect();
            QueryPlanes::from_u64(&words, query.planes, &self.layout)
        };
        queries.iter().map(planes).collect()
    }
}

impl AcceleratedMatrix for TwinMatrix {
    fn times_u32(&self, queries: &[PassQuery<'_>]) -> PassProducts<u32> {
        self.twin.count(queries.len())?;
        let planes = self.planes(queries);
        let mut out = vec![vec![0; self.layout.padded_rows()]; queries.len()];
        let mut views: Vec<&mut [u32]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        scan_u32(&self.panels, &self.layout, &planes.iter().collect::<Vec<_>>(), &mut views);
        Ok(out)
    }

    fn times_planes(&self, queries: &[PassQuery<'_>]) -> PassProducts<i64> {
        self.twin.count(queries.len())?;
        let planes = self.planes(queries);
        let rows = self.layout.padded_rows();
        let mut out: Vec<Vec<i64>> = queries.iter().map(|query| vec![0; rows * query.planes]).collect();
        let mut views: Vec<&mut [i64]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        scan_planes(&self.panels, &self.layout, &planes.iter().collect::<Vec<_>>(), &mut views);
        Ok(out)
    }
}

fn serve(dir: &Path, twin: Option<&Arc<Twin>>) -> RunningServer {
    let config = ServerConfig { tables: vec![TableConfig::dir(dir)], gpu: twin.is_some(), ..config() };
    let accelerator = twin.map(|twin| Arc::new(TwinHandle(twin.clone())) as Arc<dyn Accelerator>);
    Server::start_watched(&config, Vec::new(), accelerator, |_| ()).unwrap()
}

fn maker(running: &RunningServer) -> Option<PassMaker> {
    match &running.tables()[0].1 {
        TableStatus::Live(table) => table.pass_maker(),
        other => panic!("{other:?}"),
    }
}

fn by_processor(running: &RunningServer) -> bool {
    matches!(maker(running), Some(PassMaker::Processor(_)))
}

fn rows(count: usize, width: usize, epoch: usize) -> Vec<u8> {
    (0..count * width).map(|i| (i * 31 / 7 + i / 251 + 91 * epoch) as u8).collect()
}

/// The answers to as many queries in one request.
fn answers(asker: &mut Asker, running: &RunningServer, count: u64) -> Vec<Vec<u8>> {
    let terms = asker.catalog.terms(sotto_registry::find(&asker.catalog.scheme).unwrap()).unwrap();
    let records = terms.report.records;
    let queries: Vec<Vec<u8>> = (0..count)
        .flat_map(|i| {
            asker.client.query(RecordIndex(i * 37 % records), &mut seeded(&format!("query {i}"))).unwrap().0
        })
        .collect();
    let frame = query::encode(&asker.pin, &asker.session(running), &queries).unwrap();
    let response = post(running.public, &routes::query("real"), &frame);
    assert_eq!(response.status, 200, "{}", response.text());
    let answer_bytes = asker.sizes.answer_bytes as usize;
    let answers = answer::decode(&response.body, &asker.pin, count as u16, answer_bytes).unwrap();
    answers.iter().map(|answer| answer.to_vec()).collect()
}

fn find(scheme: &str) -> &'static SchemeEntry {
    sotto_registry::find_by_name(scheme).unwrap()
}

#[test]
fn an_accelerator_gives_the_processors_bytes() {
    let shapes =
        [("simplepir", 700, 24), ("verisimplepir", 300, 40), ("doublepir", 4100, 3), ("ypir", 2300, 5)];
    let wide =
        [("ypir-sp", 130, 6001), ("inspire", 90, 1000), ("inspire-two", 1500, 40), ("hintless", 500, 33)];
    for (scheme, count, width) in shapes.into_iter().chain(wide) {
        let dir = tempfile::tempdir().unwrap();
        encode_rows(find(scheme), dir.path(), "real", &rows(count, width, 1), width);
        let twin = Arc::new(Twin::new(usize::MAX));
        let (plain, accelerated) = (serve(dir.path(), None), serve(dir.path(), Some(&twin)));
        assert_eq!(maker(&plain), None);
        assert!(matches!(maker(&accelerated), Some(PassMaker::Accelerator { .. })), "{scheme}");
        let mut asker = Asker::new(find(scheme), &plain);
        for batch in [1, 3, 11] {
            let expected = answers(&mut asker, &plain, batch);
            assert!(answers(&mut asker, &accelerated, batch) == expected, "{scheme}, {batch} queries");
        }
        assert!(twin.queries.load(Relaxed) >= 15, "{scheme}");
        accelerated.shutdown();
        eventually("the copies are released", || twin.bytes.load(Relaxed) == 0);
    }
}

#[test]
fn epochs_take_the_accelerators_memory_in_turn() {
    let dir = tempfile::tempdir().unwrap();
    let encode = |epoch| encode_rows(find("simplepir"), dir.path(), "real", &rows(700, 24, epoch), 24);
    encode(1);
    let twin = Arc::new(Twin::new(usize::MAX));
    let (plain, accelerated) = (serve(dir.path(), None), serve(dir.path(), Some(&twin)));
    let bytes = twin.bytes.load(Relaxed);
    let mut askers = vec![Asker::new(find("simplepir"), &plain)];
    for epoch in 2..6 {
        encode(epoch);
        assert!(plain.reload() && accelerated.reload());
        askers.push(Asker::new(find("simplepir"), &plain));
        for asker in askers.iter_mut().rev().take(2) {
            assert_eq!(answers(asker, &accelerated, 3), answers(asker, &plain, 3), "epoch {epoch}");
        }
        assert_eq!((twin.bytes.load(Relaxed), twin.most_bytes.load(Relaxed)), (2 * bytes, 2 * bytes));
    }
    let metrics = get(accelerated.admin, "/metrics").text();
    assert!(
        metrics.contains(&format!("sotto_accelerated_bytes{{table=\"real\"}} {}", 2 * bytes)),
        "{metrics}"
    );
}

#[test]
fn a_table_that_does_not_fit_is_answered_by_the_processor() {
    let dir = tempfile::tempdir().unwrap();
    let encode = |epoch| encode_rows(find("simplepir"), dir.path(), "real", &rows(700, 24, epoch), 24);
    encode(1);
    let probe = Arc::new(Twin::new(usize::MAX));
    drop(serve(dir.path(), Some(&probe)));
    let bytes = probe.most_bytes.load(Relaxed);
    let plain = serve(dir.path(), None);
    for (max, epochs) in [(bytes - 1, 0), (bytes, 1), (2 * bytes - 1, 1)] {
        let twin = Arc::new(Twin::new(max));
        let running = serve(dir.path(), Some(&twin));
        assert_eq!(
            (by_processor(&running), twin.bytes.load(Relaxed)),
            (epochs == 0, epochs * bytes),
            "{max}"
        );
        let mut asker = Asker::new(find("simplepir"), &plain);
        assert_eq!(answers(&mut asker, &running, 3), answers(&mut asker, &plain, 3));
    }
    // The second epoch finds no space beside the first, and takes it once the first is the older one.
    let twin = Arc::new(Twin::new(2 * bytes - 1));
    let running = serve(dir.path(), Some(&twin));
    encode(2);
    assert!(running.reload() && plain.reload() && by_processor(&running));
    let mut asker = Asker::new(find("simplepir"), &plain);
    assert_eq!(answers(&mut asker, &running, 3), answers(&mut asker, &plain, 3));
    running.reload();
    assert!(by_processor(&running));
    encode(3);
    assert!(running.reload() && plain.reload() && !by_processor(&running));
    let mut asker = Asker::new(find("simplepir"), &plain);
    assert_eq!(answers(&mut asker, &running, 3), answers(&mut asker, &plain, 3));
    assert!(twin.most_bytes.load(Relaxed) == bytes && twin.passes.load(Relaxed) > 0);
}

#[test]
fn no_lookup_is_lost_if_the_accelerator_fails() {
    let dir = tempfile::tempdir().unwrap();
    encode_rows(find("ypir"), dir.path(), "real", &rows(2300, 5, 1), 5);
    let plain = serve(dir.path(), None);
    let mut asker = Asker::new(find("ypir"), &plain);
    for (good_passes, panics) in [(0, false), (1, false), (2, true), (3, false)] {
        let passes_left = AtomicUsize::new(good_passes);
        let twin = Arc::new(Twin { passes_left, panics, ..Twin::new(usize::MAX) });
        let running = serve(dir.path(), Some(&twin));
        assert!(!by_processor(&running));
        for batch in [2, 9, 1] {
            assert_eq!(answers(&mut asker, &running, batch), answers(&mut asker, &plain, batch));
        }
        assert!(by_processor(&running));
    }
}

#[test]
fn what_an_accelerator_cannot_do_is_said() {
    let dir = tempfile::tempdir().unwrap();
    encode_rows(find("dpf"), dir.path(), "real", &rows(700, 24, 1), 24);
    let running = serve(dir.path(), Some(&Arc::new(Twin::new(usize::MAX))));
    let why = "the scheme has no passes for an accelerator";
    assert_eq!(maker(&running), Some(PassMaker::Processor(why.into())));
    let config = ServerConfig { tables: vec![TableConfig::dir(dir.path())], gpu: true, ..config() };
    let refused = Server::start(&config).err().unwrap().to_string();
    assert!(refused.contains("build sotto with --features gpu"), "{refused}");
}
