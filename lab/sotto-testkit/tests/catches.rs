//! Tests that the suite fails where it should: schemes that break one rule each.

use sotto_core::{
    AbortLeakage, AnyServer, Artifact, Error, Image, ParamsReport, RecordSource, Result, SchemeEntry,
    Section, Sink, TableShape,
};
use sotto_testkit::conformance::{Subject, aborts, epochs, extensions, images, params, queries, rows, wire};
use sotto_testkit::memory::{MemoryImage, MemorySink};
use sotto_testkit::{CLEAR, CLEAR_BATCH, CLEAR_TWO};
use std::sync::Arc;

/// The scheme in the clear with one change.
fn broken(change: impl FnOnce(&mut SchemeEntry)) -> Subject {
    broken_one(CLEAR, change)
}

fn broken_one(mut entry: SchemeEntry, change: impl FnOnce(&mut SchemeEntry)) -> Subject {
    change(&mut entry);
    Subject::in_the_clear(Box::leak(Box::new(entry)))
}

#[test]
#[should_panic(expected = "came back changed")]
fn a_wrong_row() {
    fn encode(params: &[u8], rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        let sink = MemorySink::new();
        (CLEAR.server.encode)(params, rows, &sink)?;
        let image = sink.into_image();
        let mut table = image.section(Section::Resident).unwrap().to_vec();
        table.rotate_left(1);
        out.reserve(Section::Resident, table.len() as u64)?;
        out.write_at(Section::Resident, 0, &table)?;
        let sums: Vec<u8> = table
            .chunks(rows.record_bytes())
            .flat_map(|row| blake3::hash(row).as_bytes()[..8].to_vec())
            .collect();
        out.reserve(Section::Public(Artifact::Hint), sums.len() as u64)?;
        out.write_at(Section::Public(Artifact::Hint), 0, &sums)
    }
    rows::come_back(&broken(|entry| entry.server.encode = encode), 7);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_wrong_size_in_the_report() {
    fn report(params: &[u8]) -> Result<ParamsReport> {
        let mut report = (CLEAR.report)(params)?;
        report.costs.query_bytes += 1;
        Ok(report)
    }
    wire::sizes(&broken(|entry| entry.report = report));
}

#[test]
#[should_panic(expected = "left == right")]
fn a_wrong_hint_size_in_the_report() {
    fn report(params: &[u8]) -> Result<ParamsReport> {
        let mut report = (CLEAR.report)(params)?;
        report.costs.artifact_bytes -= 1;
        Ok(report)
    }
    images::artifact_sizes(&broken(|entry| entry.report = report));
}

#[test]
#[should_panic(expected = "whether record 1 is refused")]
fn refusals_by_the_record() {
    let subject = broken(|entry| entry.metadata.abort_leakage = AbortLeakage::Nothing);
    aborts::do_not_depend_on_the_record(&subject);
}

#[test]
#[should_panic(expected = "two queries for one record are equal")]
fn a_query_that_repeats_itself() {
    queries::differ(&Subject::private(&CLEAR));
}

#[test]
#[should_panic(expected = "if it no longer does, test it as private")]
fn privacy_that_is_not_tested() {
    queries::differ(&Subject::in_the_clear(&CLEAR_TWO));
}

#[test]
#[should_panic(expected = "bits: 127.9")]
fn too_little_security() {
    fn report(params: &[u8]) -> Result<ParamsReport> {
        let mut report = (CLEAR.report)(params)?;
        report.security.bits = 127.9;
        Ok(report)
    }
    params::promises(&broken(|entry| entry.report = report));
}

#[test]
#[should_panic(expected = "2^-39")]
fn too_many_failures() {
    fn report(params: &[u8]) -> Result<ParamsReport> {
        let mut report = (CLEAR.report)(params)?;
        report.failure_log2 = -39.0;
        Ok(report)
    }
    params::promises(&broken(|entry| entry.report = report));
}

#[test]
#[should_panic(expected = "gave Ok")]
fn a_field_that_may_be_missing() {
    fn report(params: &[u8]) -> Result<ParamsReport> {
        let text = String::from_utf8_lossy(params).replace("{\"records\"", "{\"record_bytes\":1,\"records\"");
        (CLEAR.report)(params).or_else(|_| (CLEAR.report)(text.as_bytes()))
    }
    params::fields(&broken(|entry| entry.report = report));
}

#[test]
#[should_panic(expected = "gave Ok(\"a server\")")]
fn an_image_that_is_not_checked() {
    fn open(params: &[u8], _: Arc<dyn Image>) -> Result<Box<dyn AnyServer>> {
        let whole =
            MemoryImage::default().with(Section::Resident, &vec![0; (CLEAR.report)(params)?.table_bytes()]);
        (CLEAR.server.open)(params, Arc::new(whole))
    }
    images::cut_short(&broken(|entry| entry.server.open = open));
}

#[test]
#[should_panic(expected = "StorageFull gave Ok")]
fn a_full_disk_that_nobody_notices() {
    fn encode(params: &[u8], rows: &dyn RecordSource, out: &dyn Sink) -> Result<()> {
        match (CLEAR.server.encode)(params, rows, out) {
            Err(Error::Storage(_)) => Ok(()),
            other => other,
        }
    }
    images::full_disk(&broken(|entry| entry.server.encode = encode));
}

#[test]
#[should_panic(expected = "the patched hint differs")]
fn a_patch_that_does_nothing() {
    fn patch(_: &[u8], _: Artifact, _: &mut [u8], _: &[u8]) -> Result<()> {
        Ok(())
    }
    epochs::revised(&broken(|entry| entry.patch = Some(patch)));
}

#[test]
#[should_panic(expected = "differs from a fresh one")]
fn a_revision_that_does_nothing() {
    epochs::revised(&broken(|entry| {
        entry.server.update_image = Some(|_, _, _| Ok(()));
        entry.patch = None;
    }));
}

#[test]
#[should_panic(expected = "came back changed")]
fn buckets_that_are_mixed_up() {
    fn open(params: &[u8], image: Arc<dyn Image>) -> Result<Box<dyn AnyServer>> {
        let mut table = image.section(Section::Resident).unwrap().to_vec();
        table.rotate_left(1);
        let image = MemoryImage::default().with(Section::Resident, &table);
        (CLEAR_BATCH.server.open)(params, Arc::new(image))
    }
    extensions::buckets_come_back(&broken_one(CLEAR_BATCH, |entry| entry.server.open = open));
}

#[test]
#[should_panic(expected = "the buckets that were asked for")]
fn buckets_of_another_number() {
    extensions::buckets_come_back(&broken_one(CLEAR_BATCH, |entry| entry.batch = Some(|_| Ok(1))));
}

#[test]
#[should_panic(expected = "two queries for the same records")]
fn a_batch_query_that_repeats_itself() {
    extensions::bucket_sizes(&Subject::private(&CLEAR_BATCH));
}

#[test]
#[should_panic(expected = "buckets were ignored")]
fn buckets_that_are_ignored() {
    fn select(shape: &TableShape) -> Result<Vec<u8>> {
        let buckets = if shape.buckets == 3 { 1 } else { shape.buckets };
        (CLEAR.select)(&TableShape { buckets, ..shape.clone() })
    }
    extensions::buckets_refused(&broken(|entry| entry.select = select));
}

/// Bytes of a table with these parameters.
trait TableBytes {
    fn table_bytes(&self) -> usize;
}

impl TableBytes for ParamsReport {
    fn table_bytes(&self) -> usize {
        (self.records * self.record_bytes) as usize
    }
}
