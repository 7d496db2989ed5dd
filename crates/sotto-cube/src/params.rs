//! Checked parameters, for every scheme of the family.

use crate::cost;
use crate::literal::{Literal, MAX_MASK_BITS, MAX_ROWS, TableForm, Template, Upload, gadget};
use crate::noise::Noise;
use crate::rings::{self, RingSet};
use crate::shape::Grid;
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{ParamsError, Result, SchemeId, SchemeMetadata, Security};
use sotto_lattice::expand::{Expansion, SelectorCounts};
use sotto_lattice::ring::{ModulusLevel, Ring};
use sotto_math::gadget::Gadget;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// A scheme of the family: its name and its own parameter sets.
pub trait Family: Send + Sync + 'static {
    /// The scheme's id.
    const ID: SchemeId;

    /// Publication, protection and state of the scheme.
    const METADATA: SchemeMetadata;

    /// The parameter sets of the scheme, including those that are selected automatically.
    fn templates() -> &'static [Template];
}

/// The scheme of a family `F`.
pub struct CubeScheme<F>(PhantomData<fn() -> F>);

/// Checked parameters of a scheme `F`. Cheap to clone.
pub struct Params<F> {
    inner: Arc<Inner>,
    family: PhantomData<fn() -> F>,
}

impl<F> Params<F> {
    pub(crate) fn new(inner: Inner) -> Self {
        Params { inner: Arc::new(inner), family: PhantomData }
    }
}

impl<F> Clone for Params<F> {
    fn clone(&self) -> Self {
        Params { inner: self.inner.clone(), family: PhantomData }
    }
}

/// The values that the protocol needs, the same for every scheme of the family.
#[derive(Debug)]
pub struct Inner {
    /// The literal that these parameters were checked from.
    pub literal: Literal,
    /// The named ring set.
    pub set: &'static RingSet,
    /// The ring, with its transforms.
    pub ring: Ring,
    /// Positions of the records.
    pub grid: Grid,
    /// Gadgets of the literal.
    pub gadgets: Gadgets,
    /// Noise of a lookup.
    pub noise: Noise,
    pub(crate) security: Security,
    pub(crate) failure_log2: f64,
    /// Made on first use: checking parameters does not need it.
    expansion: OnceLock<Option<Expansion>>,
}

/// The gadgets of a literal.
#[derive(Debug, Clone)]
pub struct Gadgets {
    /// Gadget of the tree that ends in selectors; `None` where nothing is expanded.
    pub expand: Option<Gadget>,
    /// Gadget of the tree that ends in bits; `None` where nothing is expanded or there are no bits.
    pub expand_right: Option<Gadget>,
    /// Gadget of the conversion to RGSW; `None` where bits are sent converted, or there are none.
    pub convert: Option<Gadget>,
    /// Gadget of folding; `None` where there is only one dimension.
    pub fold: Option<Gadget>,
    /// Gadget of packing, or of the conversion to matrices; `None` in the plain form.
    pub pack: Option<Gadget>,
}

impl<F> std::ops::Deref for Params<F> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    pub(crate) fn check(literal: Literal) -> Result<Self> {
        let set = rings::find(&literal.ring)?;
        let gadgets = in_range(&literal, set)?;
        let grid = Grid::new(&literal, set)?;
        let security = set.security()?;
        let noise = Noise::of(&literal, set);
        let failure_log2 = noise.failure_log2(&literal, set);
        if failure_log2 > f64::from(REQUIRED_FAILURE_LOG2) {
            let required = REQUIRED_FAILURE_LOG2;
            return Err(ParamsError::Unreliable { log2: failure_log2, required }.into());
        }
        let ring = set.ring().cloned().ok_or_else(|| field("ring", "must have transforms".into()))?;
        let expansion = OnceLock::new();
        Ok(Inner { literal, set, ring, grid, gadgets, noise, security, failure_log2, expansion })
    }

    /// Degree of the ring.
    pub fn n(&self) -> usize {
        self.set.n
    }

    /// Rank of the ciphertexts that are folded.
    pub fn rank(&self) -> usize {
        self.literal.rank()
    }

    /// Whether the server expands a query.
    pub fn expands(&self) -> bool {
        self.literal.upload == Upload::Expanded
    }

    /// The expansion of a query; `None` if queries are not expanded.
    pub fn expansion(&self) -> Option<&Expansion> {
        let make = || {
            let counts = SelectorCounts { left: self.literal.rows as usize, right: self.literal.bit_rows() };
            self.expands().then(|| Expansion::new(&self.ring, counts)).flatten()
        };
        self.expansion.get_or_init(make).as_ref()
    }

    /// The modulus under which queries are encrypted: Q if they are expanded, else q.
    pub fn query_level(&self) -> ModulusLevel {
        if self.expands() { ModulusLevel::Full } else { ModulusLevel::Main }
    }

    /// Number of polynomials in a query.
    pub fn query_polynomials(&self) -> usize {
        self.literal.query_polynomials()
    }

    /// Bytes of a query.
    pub fn query_bytes(&self) -> u64 {
        cost::query_bytes(&self.literal, self.n())
    }

    /// Bytes of a query's selectors in the form that the server computes with.
    pub fn prepared_bytes(&self) -> u64 {
        selector_bytes(&self.literal, self.n())
    }

    /// Bytes that a client's admitted keys take on the server.
    pub fn session_bytes(&self) -> u64 {
        cost::of_literal(&self.literal, self.set).session_bytes
    }

    /// Bytes of the answer for one unit.
    pub fn unit_answer_bytes(&self) -> u64 {
        cost::unit_answer_bytes(&self.literal, self.n())
    }
}

/// Largest number of further dimensions.
pub const MAX_NU2: u8 = 16;

/// Largest number of bytes of a query's selectors in the form that the server computes with.
pub const MAX_PREPARED_BYTES: u64 = 1 << 30;

/// Bytes of a query's selectors: a ciphertext for each row, or in the matrix form one for each row
/// and each of its n columns.
fn selector_bytes(literal: &Literal, degree: usize) -> u64 {
    let rank = literal.rank() as u64;
    u64::from(literal.rows) * rank * (rank + 1) * degree as u64 * 8
}

/// Checks every number of a literal against the ring, and the gadgets against what they decompose.
fn in_range(literal: &Literal, set: &RingSet) -> Result<Gadgets, ParamsError> {
    let expanded = literal.upload == Upload::Expanded;
    let Literal { n, rows, nu2, p_log2, .. } = *literal;
    check(
        "n",
        if literal.form == TableForm::Plain { n == 1 } else { (2..=16).contains(&n) },
        "must be 1 in the plain form, else 2 to 16",
    )?;
    check(
        "n",
        literal.form != TableForm::Matrix || set.special.is_none(),
        "must not be a matrix with a second modulus",
    )?;
    check("rows", (1..=MAX_ROWS).contains(&rows), "must be 1 to 4096")?;
    let prepared = selector_bytes(literal, set.n);
    check("rows, n", prepared <= MAX_PREPARED_BYTES, "must make selectors of at most 2^30 bytes")?;
    check("nu2", nu2 <= MAX_NU2, "must be at most 16")?;
    check("written", literal.written <= rows, "must be at most the rows")?;
    check("p_log2", (1..=20).contains(&p_log2), "must be 1 to 20")?;
    let leaves = (rows as usize).max(literal.bit_rows());
    check(
        "rows, nu2, fold",
        !expanded || 2 * leaves <= set.n,
        "must be at most N/2 of either kind in one query",
    )?;
    let [mask, body] = literal.answer_bits.map(u32::from);
    let answers = u32::from(p_log2) < body && body <= mask && mask <= set.main_bits().min(MAX_MASK_BITS);
    check("answer_bits", answers, "must satisfy log2 p < bits of b <= bits of a <= 36 and log2 q")?;
    let query_modulus = if expanded { set.full_bits() } else { set.main_bits() };
    let in_modulus = |bits: u8, modulus: u32| (8..=modulus).contains(&bits.into());
    check(
        "query_bits",
        in_modulus(literal.query_bits, query_modulus),
        "must be 8 to the bits of the modulus",
    )?;
    check("key_bits", in_modulus(literal.key_bits, set.full_bits()), "must be 8 to the bits of Q")?;
    check("pack_key_bits", in_modulus(literal.pack_key_bits, set.main_bits()), "must be 8 to the bits of q")?;

    let matrix = literal.form == TableForm::Matrix;
    // The keys of packing and of conversion use the same digits of the same masks.
    let alike = !matrix || nu2 == 0 || literal.convert == literal.pack;
    check("convert", alike, "must equal pack in the matrix form")?;
    let used_gadget = |name, triple, used: bool, modulus: u32| -> Result<Option<Gadget>, ParamsError> {
        if !used {
            check(name, triple == [0; 3], "must be [0, 0, 0] where it is not used")?;
            return Ok(None);
        }
        let gadget = gadget(name, triple)?;
        check(name, gadget.fits(modulus), "must reach the top of the modulus")?;
        let digits = u32::from(triple[0]) * u32::from(triple[1]) + u32::from(triple[2]);
        check(name, digits < modulus + u32::from(triple[1]), "must not have more digits than the modulus")?;
        Ok(Some(gadget))
    };
    Ok(Gadgets {
        expand: used_gadget("expand", literal.expand, expanded, set.full_bits())?,
        expand_right: used_gadget(
            "expand_right",
            literal.expand_right,
            expanded && nu2 > 0,
            set.full_bits(),
        )?,
        convert: used_gadget(
            "convert",
            literal.convert,
            nu2 > 0 && (expanded || matrix),
            if matrix { set.main_bits() } else { set.full_bits() },
        )?,
        fold: used_gadget("fold", literal.fold, nu2 > 0, set.main_bits())?,
        pack: used_gadget("pack", literal.pack, literal.form != TableForm::Plain, set.main_bits())?,
    })
}

fn check(field: &'static str, holds: bool, must_be: &str) -> Result<(), ParamsError> {
    if holds { Ok(()) } else { Err(ParamsError::Field { field, why: must_be.into() }) }
}

fn field(field: &'static str, why: String) -> sotto_core::Error {
    ParamsError::Field { field, why }.into()
}
