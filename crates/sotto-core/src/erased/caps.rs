//! What a scheme can do beyond looking a record up: one value, with a field for each capability.
//!
//! A step asks for the trait it stands for and fills fields that no other step fills with anything else. So the order of
//! steps says nothing, and none takes away what another gave.

#[cfg(feature = "server")]
use super::server::{self, ErasedServer, UpdateImageFn};
use super::{
    AnyBatch, AnyCheckpoint, AnyHintClient, AnyState, AnyStreamClient, AnySum, BucketsFn, HintServerEntry,
    PatchFn, StateEntry, UnitsFn,
};
#[cfg(feature = "server")]
use super::{AnyHintServer, AnySteps, AnyStreamServer, PartEntry, WhiteningEntry, steps, stream_server};
use super::{
    batch, client::ErasedClient, client::ErasedPrepare, hint_server, patch, state, stream_client, sum,
};
use crate::{BatchScheme, PatchArtifact, PerServer, Scheme, Stateful, SumElement, SumScheme};

/// What steps ask of a scheme. A build without servers asks nothing of its server's half.
#[cfg(feature = "server")]
mod asked {
    pub(super) use crate::{HintServer, PartScheme, StepServer, StreamServer, UpdateImage, WhiteningScheme};
}
#[cfg(not(feature = "server"))]
mod asked {
    pub(super) use crate::{HintScheme as HintServer, StreamScheme as StreamServer};
    pub(super) use crate::{
        Scheme as WhiteningScheme, Scheme as PartScheme, Scheme as UpdateImage, Scheme as StepServer,
    };
}
use asked::{HintServer, PartScheme, StepServer, StreamServer, UpdateImage, WhiteningScheme};

/// The capabilities of a scheme: [`Caps::NONE`], and a step for each trait it implements beyond the required ones.
pub struct Caps<S: Scheme> {
    pub(super) patch: Option<PatchFn>,
    pub(super) units: Option<UnitsFn>,
    pub(super) batch: Option<BucketsFn>,
    pub(super) sum: Option<SumElement>,
    pub(super) state: Option<StateEntry>,
    pub(super) upkeep: Option<HintServerEntry>,
    pub(super) proven: bool,
    pub(super) as_units: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyStreamClient>,
    pub(super) as_batch: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyBatch>,
    pub(super) as_sum: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnySum>,
    pub(super) as_state: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyState>,
    pub(super) as_upkeep: Option<fn(&mut ErasedClient<S>) -> &mut dyn AnyHintClient>,
    pub(super) as_checkpoint: Option<fn(&ErasedPrepare<S>) -> &dyn AnyCheckpoint>,
    #[cfg(feature = "server")]
    pub(super) revise: Option<UpdateImageFn>,
    #[cfg(feature = "server")]
    pub(super) mask: Option<WhiteningEntry>,
    #[cfg(feature = "server")]
    pub(super) parts: Option<PartEntry>,
    #[cfg(feature = "server")]
    pub(super) as_stream: Option<fn(&ErasedServer<S>) -> &dyn AnyStreamServer>,
    #[cfg(feature = "server")]
    pub(super) as_steps: Option<fn(&ErasedServer<S>) -> &dyn AnySteps>,
    #[cfg(feature = "server")]
    pub(super) as_supplier: Option<fn(&ErasedServer<S>) -> &dyn AnyHintServer>,
}

impl<S: Scheme> Caps<S> {
    /// Records are looked up, and nothing else.
    pub const NONE: Self = Caps {
        patch: None,
        units: None,
        batch: None,
        sum: None,
        state: None,
        upkeep: None,
        proven: false,
        as_units: None,
        as_batch: None,
        as_sum: None,
        as_state: None,
        as_upkeep: None,
        as_checkpoint: None,
        #[cfg(feature = "server")]
        revise: None,
        #[cfg(feature = "server")]
        mask: None,
        #[cfg(feature = "server")]
        parts: None,
        #[cfg(feature = "server")]
        as_stream: None,
        #[cfg(feature = "server")]
        as_steps: None,
        #[cfg(feature = "server")]
        as_supplier: None,
    };

    /// Every record ends with the path that proves it ([`crate::TableShape::proof_nodes`]); no table is without.
    #[must_use]
    pub const fn proven(self) -> Self {
        Caps { proven: true, ..self }
    }

    /// Refuses capabilities that contradict each other. Entries are constants, so this is a compile error.
    pub(super) const fn check(&self) {
        #[cfg(feature = "server")]
        assert!(
            self.patch.is_none() || self.revise.is_some(),
            "a scheme that patches artifacts needs the step revise(), which writes their deltas"
        );
        assert!(
            self.units.is_none() || self.state.is_none(),
            "a scheme that keeps a state cannot stream: a record read unit by unit is never recovered, nor its hint replaced"
        );
        assert!(
            self.units.is_none() || <S::Fan<()> as PerServer<()>>::SERVERS == 1,
            "a scheme that asks several servers cannot stream: their answers are read together"
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
    /// Clients move a held artifact to the next epoch: [`PatchArtifact`].
    pub const fn patch(self) -> Self {
        Caps { patch: Some(patch::<S>), ..self }
    }
}

impl<S: UpdateImage> Caps<S> {
    /// Images are moved to the next epoch: `UpdateImage`.
    pub const fn update_image(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            revise: Some(server::revise::<S>),
            ..self
        }
    }
}

impl<S: WhiteningScheme> Caps<S> {
    /// Tables have a public mask of their own: `WhiteningScheme`.
    pub const fn whitening(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            mask: Some(WhiteningEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: PartScheme> Caps<S> {
    /// Tables can be cut into parts that answer together: `PartScheme`.
    pub const fn parts(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            parts: Some(PartEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: StreamServer> Caps<S> {
    /// Records are read unit by unit: [`crate::StreamScheme`] at the client, `StreamServer` at the server.
    pub const fn stream(self) -> Self {
        Caps {
            units: Some(stream_client::of::<S>),
            as_units: Some(stream_client::view::<S>),
            #[cfg(feature = "server")]
            as_stream: Some(stream_server::view::<S>),
            ..self
        }
    }
}

impl<S: BatchScheme> Caps<S> {
    /// One query asks for a record of each bucket: [`BatchScheme`]. Such clients keep no state.
    pub const fn batch(self) -> Self {
        Caps { batch: Some(batch::of::<S>), as_batch: Some(batch::view::<S>), ..self }
    }
}

impl<S: SumScheme> Caps<S> {
    /// One query may ask for the sum of several records: [`SumScheme`]. Such clients keep no state.
    pub const fn sum(self) -> Self {
        Caps { sum: Some(S::UNIT), as_sum: Some(sum::view::<S>), ..self }
    }
}

impl<S: Stateful> Caps<S> {
    /// Clients have a state that must survive: [`Stateful`].
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
    /// A server makes hints to order: [`crate::HintScheme`] at the client, `HintServer` at the server. Such clients have a state.
    pub const fn hint_server(self) -> Self {
        Caps {
            upkeep: Some(HintServerEntry::new::<S>()),
            as_upkeep: Some(hint_server::view::<S>),
            #[cfg(feature = "server")]
            as_supplier: Some(hint_server::supplier::<S>),
            ..self.state()
        }
    }
}

impl<S: StepServer> Caps<S> {
    /// Servers say which step of an answer they are at: `StepServer`.
    pub const fn steps(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            as_steps: Some(steps::view::<S>),
            ..self
        }
    }
}
