//! The scheme of a family.
//!
//! The server's steps are those of Spiral's section 4 and of FSpiral's Algorithm 5, which has one
//! key switch for each split and one product for each CMUX. It expands the query into selectors and
//! RGSW encryptions of bits (the Stream variants receive them), modulo Q where there is a second
//! modulus, and switches to q; multiplies the table by the selectors; folds by CMUX; packs, in the
//! Pack variants; and switches to the bits that are sent. All steps but the first are taken for
//! each unit of a record.

#[cfg(feature = "server")]
use crate::answer::{CubeTable, ExpandedQuery};
use crate::literal::Literal;
use crate::params::{CubeScheme, Family, Inner, Params};
use crate::{client, message, report, select};
#[cfg(feature = "server")]
use sotto_core::WriteSlot;
use sotto_core::{
    Caps, NamedSet, OneServer, ParamsError, ParamsReport, Record, Result, Scheme, SchemeId, SchemeMetadata,
    StreamScheme, TableShape,
};
#[cfg(feature = "server")]
use sotto_prg::PublicSeed;

impl<F: Family> Scheme for CubeScheme<F> {
    const ID: SchemeId = F::ID;
    const METADATA: SchemeMetadata = F::METADATA;
    type Params = Params<F>;
    type Fan<T> = OneServer<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare<F>;
    type Client = client::Client<F>;
    #[cfg(feature = "server")]
    type Server = CubeTable<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().stream().whitening().parts();
}

impl<F: Family> sotto_core::Params for Params<F> {
    type Literal = Literal;

    fn sets() -> Vec<NamedSet> {
        F::templates().iter().map(|set| NamedSet { name: set.name, about: set.about }).collect()
    }

    fn select(shape: &TableShape) -> Result<Literal> {
        select::select(F::templates(), shape)
    }

    fn check(literal: Literal) -> Result<Self> {
        if !F::templates().iter().any(|set| set.is_compatible(&literal)) {
            let why = "must be those of one of the scheme's parameter sets".into();
            return Err(ParamsError::Field { field: "ring, upload, form", why }.into());
        }
        Ok(Params::new(Inner::check(literal)?))
    }

    fn literal(&self) -> &Literal {
        &self.literal
    }

    fn report(&self) -> ParamsReport {
        report::of(self, F::templates())
    }
}

impl<F: Family> StreamScheme for CubeScheme<F> {
    type UnitAnswer = message::UnitAnswer;

    fn units(params: &Params<F>) -> u64 {
        params.grid.units()
    }

    fn unit_bytes(params: &Params<F>) -> usize {
        params.grid.bytes_of_unit(0).len()
    }

    fn recover_unit(
        client: &mut client::Client<F>,
        pending: &client::Pending,
        unit: u64,
        answer: message::UnitAnswer,
    ) -> Result<Record> {
        client.open(pending, unit, &answer)
    }
}

/// Queries answered unit by unit: the setting of SpiralStream.
#[cfg(feature = "server")]
impl<F: Family> sotto_core::StreamServer for CubeScheme<F> {
    type Prepared = ExpandedQuery;

    fn prepare(
        server: &CubeTable<F>,
        session: &crate::session::Session,
        query: message::Query,
    ) -> Result<ExpandedQuery> {
        server.prepare(session, &query)
    }

    fn unit(server: &CubeTable<F>, query: &ExpandedQuery, unit: u64) -> Result<message::UnitAnswer> {
        server
            .unit(unit, &[query])
            .pop()
            .ok_or(sotto_core::Misuse::Rule("one query must have one answer").into())
    }
}

#[cfg(feature = "server")]
impl<F: Family> sotto_core::WhiteningScheme for CubeScheme<F> {
    fn with_whitening_seed(literal: Literal, seed: [u8; 32]) -> Literal {
        Literal { mask: PublicSeed(seed), ..literal }
    }

    fn write_slot(params: &Params<F>, record: u64) -> WriteSlot {
        let (row, column) = params.grid.place(record);
        WriteSlot { column: column as u64, summand: row as u64 }
    }

    fn max_writes(params: &Params<F>) -> u64 {
        params.literal.written.into()
    }
}

#[cfg(feature = "server")]
impl<F: Family> sotto_core::UpdateImage for CubeScheme<F> {
    fn update_image(
        params: &Params<F>,
        changes: &[sotto_core::RecordChange],
        out: &dyn sotto_core::Sink,
    ) -> Result<()> {
        crate::update_image::update_image(params, changes, out)
    }
}
