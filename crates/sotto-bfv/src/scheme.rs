//! What the scheme of a family consists of.

use crate::family::{Bfv, Family};
#[cfg(feature = "server")]
use crate::server::Server;
use crate::{client, message, params};
use sotto_core::{
    BatchScheme, Caps, CryptoRng, OneServer, PendingOf, Record, Result, Scheme, SchemeId, SchemeMetadata,
};
#[cfg(feature = "server")]
use sotto_core::{RecordChange, Sink, UpdateImage, WhiteningScheme, WriteSlot};
#[cfg(feature = "server")]
use sotto_prg::PublicSeed;

impl<F: Family> Scheme for Bfv<F> {
    const ID: SchemeId = F::ID;
    const METADATA: SchemeMetadata = F::METADATA;
    type Params = params::Params<F>;
    type Fan<T> = OneServer<T>;
    type Keys = message::Keys;
    type Query = message::Query;
    type Answer = message::Answer;
    type Prepare = client::Prepare<F>;
    type Client = client::Client<F>;
    #[cfg(feature = "server")]
    type Server = Server<F>;
    const CAPS: Caps<Self> = Caps::NONE.update_image().whitening().batch().parts();
}

impl<F: Family> BatchScheme for Bfv<F> {
    fn buckets(params: &params::Params<F>) -> u64 {
        params.layout.buckets as u64
    }

    fn query_buckets(
        client: &mut client::Client<F>,
        places: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(OneServer<message::Query>, PendingOf<Self>)> {
        let (query, pending) = client.query_buckets(places, rng)?;
        Ok((OneServer(query), pending))
    }

    fn recover_buckets(
        client: &mut client::Client<F>,
        pending: PendingOf<Self>,
        OneServer(answer): OneServer<message::Answer>,
    ) -> Result<Vec<Record>> {
        let records = client.recover_buckets(&pending, &answer)?;
        Ok(records.into_iter().map(|record| Record::new(record.to_vec())).collect())
    }
}

#[cfg(feature = "server")]
impl<F: Family> WhiteningScheme for Bfv<F> {
    fn with_whitening_seed(literal: crate::literal::Literal, seed: [u8; 32]) -> crate::literal::Literal {
        crate::literal::Literal { mask: PublicSeed(seed), ..literal }
    }

    fn write_slot(params: &params::Params<F>, record: u64) -> WriteSlot {
        let layout = &params.layout;
        let (bucket, place) = (record / layout.records, layout.place(record % layout.records));
        let table = if layout.tables() > 1 { bucket } else { 0 };
        WriteSlot { column: table * layout.blocks as u64 + place.block, summand: place.row }
    }

    fn max_writes(params: &params::Params<F>) -> u64 {
        params.literal.written.into()
    }
}

#[cfg(feature = "server")]
impl<F: Family> UpdateImage for Bfv<F> {
    fn update_image(params: &params::Params<F>, changes: &[RecordChange], out: &dyn Sink) -> Result<()> {
        crate::server::update_image::update_image(params, changes, out)
    }
}
