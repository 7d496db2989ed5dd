use sotto_math::{modulus::Modulus, ntt::NttPlan};
use std::time::Instant;
fn main() {
    let q = 4294828033u64;
    let n = 1024;
    let plan = NttPlan::new(n, Modulus::new(q).unwrap()).unwrap();
    let mut v = vec![1u64; n + 16];
    for off in [0usize, 2, 4] {
        let at = v.as_ptr().align_offset(64) + off;
        let x = &mut v[at..at + n];
        let mut best = f64::MAX;
        for _ in 0..50 {
            let t = Instant::now();
            for _ in 0..1000 {
                plan.forward(std::hint::black_box(x));
            }
            best = best.min(t.elapsed().as_secs_f64());
        }
        println!("off {off}: {} ns", best * 1e6);
    }
}
