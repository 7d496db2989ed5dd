//! Capabilities of a scheme beyond looking a record up: one value, with a field for each
//! capability.
//!
//! Each method requires the trait that it stands for, and fills fields that no other method fills
//! with another value. So the order of the calls does not matter, and no call undoes another one.

use super::client::{self, ErasedClient, ErasedPrepare};
#[cfg(feature = "server")]
use super::server::{self, ErasedServer, UpdateImageFn};
use super::{
    AnyBatch, AnyCheckpoint, AnyHintClient, AnyState, AnyStreamClient, AnySum, BucketsFn, HintServerEntry,
    PatchFn, StateEntry, UnitsFn,
};
#[cfg(feature = "server")]
use super::{AnyHintServer, AnyStreamServer, PartEntry, WhiteningEntry};
use super::{hint_server, patch, state};
use crate::{BatchScheme, PatchArtifact, PerServer, Scheme, Stateful, SumElement, SumScheme};

/// Traits that the methods of [`Caps`] require. A build without servers requires nothing of the
/// server's half.
#[cfg(feature = "server")]
mod server_traits {
    pub(super) use crate::{HintServer, PartScheme, StreamServer, UpdateImage, WhiteningScheme};
}
#[cfg(not(feature = "server"))]
mod server_traits {
    pub(super) use crate::{
        HintScheme as HintServer, Scheme as WhiteningScheme, Scheme as PartScheme, Scheme as UpdateImage,
        StreamScheme as StreamServer,
    };
}
use server_traits::{HintServer, PartScheme, StreamServer, UpdateImage, WhiteningScheme};

/// The capabilities of a scheme: [`Caps::NONE`], with a call for each further trait that it
/// implements.
pub struct Caps<S: Scheme> {
    pub(super) patch: Option<PatchFn>,
    pub(super) units: Option<UnitsFn>,
    pub(super) batch: Option<BucketsFn>,
    pub(super) sum: Option<SumElement>,
    pub(super) state: Option<StateEntry>,
    pub(super) hint_server: Option<HintServerEntry>,
    pub(super) proven: bool,
    pub(super) as_units: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyStreamClient>,
    pub(super) as_batch: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyBatch>,
    pub(super) as_sum: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnySum>,
    pub(super) as_state: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyState>,
    pub(super) as_hint_client: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyHintClient>,
    pub(super) as_checkpoint: Option<fn(&ErasedPrepare<S>) -> &dyn AnyCheckpoint>,
    #[cfg(feature = "server")]
    pub(super) update_image: Option<UpdateImageFn>,
    #[cfg(feature = "server")]
    pub(super) whitening: Option<WhiteningEntry>,
    #[cfg(feature = "server")]
    pub(super) parts: Option<PartEntry>,
    #[cfg(feature = "server")]
    pub(super) as_stream: Option<fn(&ErasedServer<S>) -> &dyn AnyStreamServer>,
    #[cfg(feature = "server")]
    pub(super) as_hint_server: Option<fn(&ErasedServer<S>) -> &dyn AnyHintServer>,
}

impl<S: Scheme> Caps<S> {
    /// The capabilities of a scheme that only looks records up.
    pub const NONE: Self = Caps {
        patch: None,
        units: None,
        batch: None,
        sum: None,
        state: None,
        hint_server: None,
        proven: false,
        as_units: None,
        as_batch: None,
        as_sum: None,
        as_state: None,
        as_hint_client: None,
        as_checkpoint: None,
        #[cfg(feature = "server")]
        update_image: None,
        #[cfg(feature = "server")]
        whitening: None,
        #[cfg(feature = "server")]
        parts: None,
        #[cfg(feature = "server")]
        as_stream: None,
        #[cfg(feature = "server")]
        as_hint_server: None,
    };

    /// Declares that every record ends with its inclusion proof
    /// ([`crate::TableShape::proof_nodes`]), in every table.
    #[must_use]
    pub const fn proven(self) -> Self {
        Caps { proven: true, ..self }
    }

    /// Refuses capabilities that contradict each other. Entries are constants, so a contradiction
    /// is a compile error.
    pub(super) const fn check(&self) {
        #[cfg(feature = "server")]
        assert!(
            self.patch.is_none() || self.update_image.is_some(),
            "a scheme that patches artifacts needs the step update_image(), which writes their deltas"
        );
        assert!(
            self.units.is_none() || self.state.is_none(),
            "a scheme that keeps a state cannot stream: a record read unit by unit is never recovered, nor its hint replaced"
        );
        assert!(
            self.units.is_none() || <S::Fan<()> as PerServer<()>>::SERVERS == 1,
            "a scheme of several servers cannot stream: their answers are read together"
        );
        assert!(
            self.batch.is_none() || self.state.is_none(),
            "a scheme that keeps a state has no batches: what a journal has of a query is one record"
        );
        assert!(
            self.sum.is_none() || self.state.is_none(),
            "a scheme that keeps a state has no sums: what its hints give is one record"
        );
    }
}

impl<S: PatchArtifact> Caps<S> {
    /// Declares that clients can patch a stored artifact to the next epoch: [`PatchArtifact`].
    pub const fn patch(self) -> Self {
        Caps { patch: Some(patch::<S>), ..self }
    }
}

impl<S: UpdateImage> Caps<S> {
    /// Declares that images can be updated to the next epoch: `UpdateImage`.
    pub const fn update_image(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            update_image: Some(server::update_image::<S>),
            ..self
        }
    }
}

impl<S: WhiteningScheme> Caps<S> {
    /// Declares that each table is combined with a public random stream of its own:
    /// `WhiteningScheme`.
    pub const fn whitening(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            whitening: Some(WhiteningEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: PartScheme> Caps<S> {
    /// Declares that tables can be split into parts that answer together: `PartScheme`.
    pub const fn parts(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            parts: Some(PartEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: StreamServer> Caps<S> {
    /// Declares that records are read unit by unit: [`crate::StreamScheme`] at the client,
    /// `StreamServer` at the server.
    pub const fn stream(self) -> Self {
        Caps {
            units: Some(client::unit_layout::<S>),
            as_units: Some(client::stream_view::<S>),
            #[cfg(feature = "server")]
            as_stream: Some(server::stream_view::<S>),
            ..self
        }
    }
}

impl<S: BatchScheme> Caps<S> {
    /// Declares that one query asks for a record of each bucket: [`BatchScheme`]. Clients then have
    /// no durable state.
    pub const fn batch(self) -> Self {
        Caps { batch: Some(client::buckets::<S>), as_batch: Some(client::batch_view::<S>), ..self }
    }
}

impl<S: SumScheme> Caps<S> {
    /// Declares that one query can ask for the sum of several records: [`SumScheme`]. Clients then
    /// have no durable state.
    pub const fn sum(self) -> Self {
        Caps { sum: Some(S::UNIT), as_sum: Some(client::sum_view::<S>), ..self }
    }
}

impl<S: Stateful> Caps<S> {
    /// Declares that clients have state that must survive: [`Stateful`].
    pub const fn state(self) -> Self {
        Caps {
            state: Some(StateEntry::new::<S>()),
            as_state: Some(state::view::<S>),
            as_checkpoint: Some(state::checkpoint::<S>),
            ..self
        }
    }
}

impl<S: HintServer> Caps<S> {
    /// Declares that a server makes hints on request: [`crate::HintScheme`] at the client,
    /// `HintServer` at the server. Clients then have durable state.
    pub const fn hint_server(self) -> Self {
        Caps {
            hint_server: Some(HintServerEntry::new::<S>()),
            as_hint_client: Some(hint_server::view::<S>),
            #[cfg(feature = "server")]
            as_hint_server: Some(hint_server::hint_server::<S>),
            ..self.state()
        }
    }
}
