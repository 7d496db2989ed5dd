//! Every error has the name, kind, fix and text that programs and people know: `every.txt`.

mod every;

use super::transport::Intermediary;
use super::*;

#[test]
fn every_error_means_what_the_table_says() {
    for (error, expected) in every::every().iter().zip(every::TABLE.lines()) {
        let exit = expected.split(" | ").nth(3).unwrap_or_default();
        let (fault, kind) = (format!("{:?}", error.fault()), format!("{:?}", error.diagnosis().kind));
        let columns = [error.code(), &fault.to_lowercase(), &kind.to_lowercase(), exit, error.fix()];
        assert_eq!(format!("{} | {error}", columns.join(" | ")), expected);
    }
    assert_eq!(every::every().len(), every::TABLE.lines().count());
}
