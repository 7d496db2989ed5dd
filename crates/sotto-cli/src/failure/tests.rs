//! The exit code of every error of a client.

#[path = "../../../sotto-client/src/error/tests/every.rs"]
mod every;

use crate::failure::{CatalogError, ClientError, Error, StateError, TransportError, WitnessError, client};
use sotto_catalog::{Hex32, PublicKey, TableName};
use sotto_client::cache::CacheError;
use sotto_client::error::transport::Intermediary;
use sotto_core::Epoch;
use sotto_oprf::OprfError;
use sotto_wire::{FrameError, Problem};

#[test]
fn every_error_of_a_client_has_the_exit_code_of_the_table() {
    for (error, expected) in every::every().iter().zip(every::TABLE.lines()) {
        let exit = format!("{:?}", client(error)).to_lowercase();
        assert_eq!(Some(exit.as_str()), expected.split(" | ").nth(3), "{error}");
    }
}
