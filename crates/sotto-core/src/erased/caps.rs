//! What a scheme can do beyond looking a record up: one value, with a field for each capability.
//!
//! A step asks for the trait it stands for and fills fields that no other step fills with anything else. So the order of
//! steps says nothing, and none takes away what another gave.

#[cfg(feature = "server")]
use super::server::{self, Open, ReviseFn};
use super::{
    AnyBatch, AnyCheckpoint, AnyState, AnySum, AnyUnits, AnyUpkeep, BucketsFn, PatchFn, StateEntry, UnitsFn,
    UpkeepEntry,
};
#[cfg(feature = "server")]
use super::{AnySteps, AnyStream, AnySupplier, MaskEntry, PartEntry, steps, stream};
use super::{batch, client::Preparing, client::Ready, patch, state, sum, units, upkeep};
use crate::{Batched, Fan, Patch, Scheme, Stateful, Summed, Unit};

/// What steps ask of a scheme. A build without servers asks nothing of its server's half.
#[cfg(feature = "server")]
mod asked {
    pub(super) use crate::{Masked, Partial, Revise, Stepped, Stream, Supplier};
}
#[cfg(not(feature = "server"))]
mod asked {
    pub(super) use crate::{Scheme as Masked, Scheme as Partial, Scheme as Revise, Scheme as Stepped};
    pub(super) use crate::{Streamed as Stream, Upkeep as Supplier};
}
use asked::{Masked, Partial, Revise, Stepped, Stream, Supplier};

/// The capabilities of a scheme: [`Caps::NONE`], and a step for each trait it implements beyond the required ones.
pub struct Caps<S: Scheme> {
    pub(super) patch: Option<PatchFn>,
    pub(super) units: Option<UnitsFn>,
    pub(super) batch: Option<BucketsFn>,
    pub(super) sum: Option<Unit>,
    pub(super) state: Option<StateEntry>,
    pub(super) upkeep: Option<UpkeepEntry>,
    pub(super) proven: bool,
    pub(super) as_units: Option<fn(&mut Ready<S>) -> &mut dyn AnyUnits>,
    pub(super) as_batch: Option<fn(&mut Ready<S>) -> &mut dyn AnyBatch>,
    pub(super) as_sum: Option<fn(&mut Ready<S>) -> &mut dyn AnySum>,
    pub(super) as_state: Option<fn(&mut Ready<S>) -> &mut dyn AnyState>,
    pub(super) as_upkeep: Option<fn(&mut Ready<S>) -> &mut dyn AnyUpkeep>,
    pub(super) as_checkpoint: Option<fn(&Preparing<S>) -> &dyn AnyCheckpoint>,
    #[cfg(feature = "server")]
    pub(super) revise: Option<ReviseFn>,
    #[cfg(feature = "server")]
    pub(super) mask: Option<MaskEntry>,
    #[cfg(feature = "server")]
    pub(super) parts: Option<PartEntry>,
    #[cfg(feature = "server")]
    pub(super) as_stream: Option<fn(&Open<S>) -> &dyn AnyStream>,
    #[cfg(feature = "server")]
    pub(super) as_steps: Option<fn(&Open<S>) -> &dyn AnySteps>,
    #[cfg(feature = "server")]
    pub(super) as_supplier: Option<fn(&Open<S>) -> &dyn AnySupplier>,
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

    /// Every record ends with the path that proves it ([`crate::Shape::path`]); no table is without.
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
            self.units.is_none() || <S::Fan<()> as Fan<()>>::SERVERS == 1,
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

impl<S: Patch> Caps<S> {
    /// Clients move a held artifact to the next epoch: [`Patch`].
    pub const fn patch(self) -> Self {
        Caps { patch: Some(patch::<S>), ..self }
    }
}

impl<S: Revise> Caps<S> {
    /// Images are moved to the next epoch: `Revise`.
    pub const fn revise(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            revise: Some(server::revise::<S>),
            ..self
        }
    }
}

impl<S: Masked> Caps<S> {
    /// Tables have a public mask of their own: `Masked`.
    pub const fn mask(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            mask: Some(MaskEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: Partial> Caps<S> {
    /// Tables can be cut into parts that answer together: `Partial`.
    pub const fn parts(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            parts: Some(PartEntry::of::<S>()),
            ..self
        }
    }
}

impl<S: Stream> Caps<S> {
    /// Records are read unit by unit: [`crate::Streamed`] at the client, `Stream` at the server.
    pub const fn stream(self) -> Self {
        Caps {
            units: Some(units::of::<S>),
            as_units: Some(units::view::<S>),
            #[cfg(feature = "server")]
            as_stream: Some(stream::view::<S>),
            ..self
        }
    }
}

impl<S: Batched> Caps<S> {
    /// One query asks for a record of each bucket: [`Batched`]. Such clients keep no state.
    pub const fn batch(self) -> Self {
        Caps { batch: Some(batch::of::<S>), as_batch: Some(batch::view::<S>), ..self }
    }
}

impl<S: Summed> Caps<S> {
    /// One query may ask for the sum of several records: [`Summed`]. Such clients keep no state.
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

impl<S: Supplier> Caps<S> {
    /// A server makes hints to order: [`crate::Upkeep`] at the client, `Supplier` at the server. Such clients have a state.
    pub const fn upkeep(self) -> Self {
        Caps {
            upkeep: Some(UpkeepEntry::new::<S>()),
            as_upkeep: Some(upkeep::view::<S>),
            #[cfg(feature = "server")]
            as_supplier: Some(upkeep::supplier::<S>),
            ..self.state()
        }
    }
}

impl<S: Stepped> Caps<S> {
    /// Servers say which step of an answer they are at: `Stepped`.
    pub const fn steps(self) -> Self {
        Caps {
            #[cfg(feature = "server")]
            as_steps: Some(steps::view::<S>),
            ..self
        }
    }
}
