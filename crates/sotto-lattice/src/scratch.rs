//! Working memory of all operations on digits, so that no step allocates.
//!
//! Key switching and external products have one shape: transform a polynomial to coefficients,
//! split each into `l` small digits, transform the digits, and sum their products with `l` rows of
//! a key.

use crate::buffer_pool::AlignedWords;
use crate::ciphertext::Ciphertext;
use crate::ring::{ModulusLevel, Ring};
use sotto_math::gadget::Gadget;
use sotto_math::ntt::NttPlan;

/// Terms of one sum of products that are passed to a kernel at a time.
const TERMS: usize = 16;

/// Working memory for one polynomial and for digits. It grows with the first use, and is then
/// reused.
#[derive(Debug)]
pub struct Scratch {
    poly: AlignedWords,
    /// The digits of each limb, digit by digit.
    digits: [AlignedWords; 2],
}

impl Scratch {
    /// Allocates working memory for a ring.
    pub fn new(ring: &Ring) -> Self {
        Scratch {
            poly: AlignedWords::unfilled(ring.words(ModulusLevel::Full)),
            digits: [AlignedWords::zero(0), AlignedWords::zero(0)],
        }
    }

    /// The buffer of the polynomial to be split next.
    pub(crate) fn poly(&mut self, ring: &Ring, level: ModulusLevel) -> &mut [u64] {
        &mut self.poly[..ring.words(level)]
    }

    /// Reserves memory for `count` digits.
    pub(crate) fn reserve(&mut self, ring: &Ring, level: ModulusLevel, count: usize) {
        for digits in self.digits.iter_mut().take(ring.limbs(level)) {
            if digits.len() < count * ring.n() {
                *digits = AlignedWords::unfilled(count * ring.n());
            }
        }
    }

    /// Splits the polynomial, which is in slots and is overwritten, into digits in slots, stored as
    /// digits `first..`.
    pub(crate) fn split(&mut self, ring: &Ring, level: ModulusLevel, gadget: &Gadget, first: usize) {
        let n = ring.n();
        let poly = &mut self.poly[..ring.words(level)];
        ring.inverse(level, poly);
        let range = first * n..(first + gadget.digits() as usize) * n;
        let [main, special] = &mut self.digits;
        let main = &mut main[range.clone()];
        match (level, ring.special_plan().zip(ring.pair())) {
            (ModulusLevel::Full, Some((plan, pair))) => {
                let special = &mut special[range];
                let (x, x_special) = poly.split_at(n);
                gadget.decompose_pair(pair, [x, x_special], [main, special]);
                forward_all(plan, special);
            }
            _ => gadget.decompose(ring.q(), poly, main),
        }
        forward_all(ring.plan(), main);
    }

    /// Copies the images of digits from other scratch memory.
    pub(crate) fn take(
        &mut self,
        ring: &Ring,
        level: ModulusLevel,
        count: usize,
        from: &Scratch,
        image: impl Fn(&[u64], &mut [u64]),
    ) {
        self.reserve(ring, level, count);
        for (out, x) in self.digits.iter_mut().zip(&from.digits).take(ring.limbs(level)) {
            let digits = out.chunks_exact_mut(ring.n()).zip(x.chunks_exact(ring.n()));
            digits.take(count).for_each(|(out, x)| image(x, out));
        }
    }

    /// Writes the sum over `j` of digit `j` times row `j` to every component of `out`. To
    /// components from `added` on, the sum is added.
    pub(crate) fn sum(&self, ring: &Ring, rows: &[Ciphertext], out: &mut Ciphertext, added: usize) {
        let n = ring.n();
        // Limb by limb, so that the digits of one limb, which all components read, are still in a
        // cache.
        for (limb, plan) in ring.plans(out.level()).enumerate() {
            let words = limb * n..(limb + 1) * n;
            for comp in 0..=out.rank() {
                let digits = self.digits[limb].chunks_exact(n);
                let rows = rows.iter().map(|row| &row.comp(comp)[words.clone()]);
                sum_of_products(
                    plan,
                    digits.zip(rows),
                    &mut out.comp_mut(comp)[words.clone()],
                    comp >= added,
                );
            }
        }
    }
}

/// Writes or adds a sum of any number of products to `out`.
pub(crate) fn sum_of_products<'a>(
    plan: &NttPlan,
    products: impl Iterator<Item = (&'a [u64], &'a [u64])>,
    out: &mut [u64],
    mut add: bool,
) {
    let mut products = products.peekable();
    // Without any products the sum, zero, is still written.
    while !add || products.peek().is_some() {
        let (mut a, mut b, mut count) = ([&[][..]; TERMS], [&[][..]; TERMS], 0);
        for (x, y) in products.by_ref().take(TERMS) {
            (a[count], b[count]) = (x, y);
            count += 1;
        }
        if add {
            plan.add_sum_of_products(&a[..count], &b[..count], out);
        } else {
            plan.sum_of_products(&a[..count], &b[..count], out);
        }
        add = true;
    }
}

fn forward_all(plan: &NttPlan, digits: &mut [u64]) {
    digits.chunks_exact_mut(plan.n()).for_each(|digit| plan.forward(digit));
}
