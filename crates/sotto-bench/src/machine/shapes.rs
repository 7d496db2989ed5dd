//! Which shape of each kernel is the fastest here, and a file that remembers it.
//!
//! A shape is a way to go through memory ([`sotto_math::machine::Shape`]). All give the same bytes, so that a wrong choice costs
//! time and nothing else; and since a neighbor on the machine may have been loud, the processor's default stays where
//! nothing is clearly faster.

use super::MachineFacts;
use crate::median::ms;
use crate::{BenchError, Options};
use serde::{Deserialize, Serialize};
use sotto_math::machine::{all_shapes, choose_shape, default_shapes, processor, try_shape};
use sotto_pages::HugeBuffer;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// More than most last-level caches. Where one is larger, it is the cache that is measured.
const BUFFER: usize = 48 << 20;
/// How often each shape is tried; its shortest time counts.
const ROUNDS: usize = 3;
/// A shape takes the default's place if it needs at most so much of its time.
const CLEARLY: f64 = 0.95;

/// The shapes that kernels have on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shapes {
    /// What it was measured on: processor, kernels, version of sotto.
    machine: String,
    /// One for each kernel that has any.
    pub kernels: Vec<KernelShapes>,
    /// How long measuring took; 0 if they are defaults.
    pub took_ms: f64,
}

/// One kernel's shapes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelShapes {
    /// `scan`, `tiles` or `select`.
    pub kernel: String,
    /// The one in use.
    pub shape: String,
    /// The processor's default.
    pub default: String,
    /// All that were tried.
    pub tried: Vec<Trial>,
}

/// One shape's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its name.
    pub shape: String,
    /// The shortest of its passes.
    pub best_ms: f64,
}

impl Shapes {
    /// Tries all shapes on one thread and uses the best from now on, but for what is pinned. Takes about 100 ms.
    ///
    /// # Errors
    /// [`BenchError::Storage`] if there is no memory to try them on.
    pub fn measure() -> Result<Self, BenchError> {
        let start = Instant::now();
        let mut buffer = HugeBuffer::zeroed(BUFFER)?;
        // Written to, since pages that never were are all the one zero page.
        buffer.fill(0);
        let kernels = default_shapes().into_iter().map(|default| {
            let candidates = all_shapes(default.kernel);
            let mut least = vec![Duration::MAX; candidates.len()];
            for _ in 0..ROUNDS {
                for (shape, least) in candidates.iter().zip(&mut least) {
                    let start = Instant::now();
                    black_box(try_shape(*shape, &buffer));
                    *least = start.elapsed().min(*least);
                }
            }
            let tried = candidates.iter().zip(least);
            let tried = tried.map(|(shape, least)| Trial { shape: shape.name.into(), best_ms: ms(least) });
            let tried: Vec<Trial> = tried.collect();
            let shape = best(&tried, default.name).to_owned();
            KernelShapes { kernel: default.kernel.into(), shape, default: default.name.into(), tried }
        });
        let mut shapes = Shapes { machine: machine(), kernels: kernels.collect(), took_ms: 0.0 };
        shapes.took_ms = ms(start.elapsed());
        shapes.employ();
        Ok(shapes)
    }

    /// What a file remembers of this machine, if it does; uses it from now on.
    ///
    /// A file that is not there, not whole, about another machine or of another version is none: measuring is quick.
    pub fn recall(file: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok().filter(|text| text.len() < 1 << 16)?;
        let shapes: Shapes = serde_json::from_str(&text).ok()?;
        (shapes.machine == machine()).then(|| {
            shapes.employ();
            shapes
        })
    }

    /// Writes them into a file.
    ///
    /// # Errors
    /// Of the file system.
    pub fn keep(&self, file: &Path) -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(self)?;
        // Written aside and renamed: two programs may start at once.
        let aside = file.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&aside, text)?;
        std::fs::rename(&aside, file)
    }

    /// One line for a person: `scan wide, tiles plain, select plain`.
    pub fn line(&self) -> String {
        let each = self.kernels.iter().map(|kernel| format!("{} {}", kernel.kernel, kernel.shape));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The same as the environment variable `SOTTO_SHAPES` takes it.
    pub fn pin(&self) -> String {
        let each = self.kernels.iter().map(|kernel| format!("{}={}", kernel.kernel, kernel.shape));
        each.collect::<Vec<_>>().join(",")
    }

    /// Whose the defaults are, and what they rest on.
    pub fn default_of(&self) -> String {
        let (processor, measured) = processor();
        format!("{processor}, {}", if measured { "measured on one" } else { "by reasoning, not measured" })
    }

    /// Tells the kernels. Names that no kernel knows are passed over.
    fn employ(&self) {
        for kernel in &self.kernels {
            choose_shape(&kernel.kernel, &kernel.shape);
        }
    }
}

/// The default, or what is clearly faster.
fn best<'a>(tried: &'a [Trial], default: &'a str) -> &'a str {
    let of_default =
        tried.iter().find(|trial| trial.shape == default).map_or(f64::MAX, |trial| trial.best_ms);
    let fastest = tried.iter().min_by(|a, b| a.best_ms.total_cmp(&b.best_ms));
    fastest.filter(|trial| trial.best_ms <= CLEARLY * of_default).map_or(default, |trial| &trial.shape)
}

/// What tells this machine and this build from others, for files that remember figures of it.
pub fn machine() -> String {
    let facts = MachineFacts::of_this(&Options::default());
    let (processor, _) = processor();
    format!("{}, {processor}, {} kernels, sotto {}", facts.cpu, facts.kernels, facts.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(times: &[(&str, f64)]) -> Vec<Trial> {
        times.iter().map(|(shape, best_ms)| Trial { shape: (*shape).into(), best_ms: *best_ms }).collect()
    }

    #[test]
    fn the_default_stays_unless_another_is_clearly_faster() {
        assert_eq!(best(&trials(&[("a", 10.0), ("b", 9.6), ("c", 12.0)]), "a"), "a");
        assert_eq!(best(&trials(&[("a", 10.0), ("b", 9.6), ("c", 9.4)]), "a"), "c");
        assert_eq!(best(&trials(&[("b", 9.6)]), "a"), "b");
        assert_eq!(best(&[], "a"), "a");
    }

    #[test]
    fn a_file_is_remembered_on_its_own_machine_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache").join("kernels.json");
        assert_eq!(Shapes::recall(&file), None);
        let measured = Shapes::measure().unwrap();
        assert_eq!(measured.kernels.len(), 3);
        assert!(measured.kernels.iter().all(|kernel| kernel.tried.len() > 1));
        measured.keep(&file).unwrap();
        // Of the times the file keeps as many digits as anybody needs.
        assert_eq!(Shapes::recall(&file).unwrap().line(), measured.line());
        Shapes { machine: "another".into(), ..measured }.keep(&file).unwrap();
        assert_eq!(Shapes::recall(&file), None);
        for text in ["", "{", "[]", "{\"machine\":1}"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(Shapes::recall(&file), None, "{text}");
        }
    }
}
