//! The fastest shape of each kernel on this machine, and a file that stores it.
//!
//! A shape is an order of going through memory ([`sotto_math::machine::Shape`]). All give the same
//! bytes, so a wrong choice costs only time; and since a neighbor on the machine may have been
//! loud, the processor's default stays where nothing is clearly faster.

use super::MachineFacts;
use crate::timing::ms;
use crate::{BenchError, Options};
use serde::{Deserialize, Serialize};
use sotto_math::machine::{all_shapes, choose_shape, default_shapes, processor, try_shape};
use sotto_pages::HugeBuffer;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the buffer, more than most last-level caches. Where one is larger, the cache is
/// measured.
const BUFFER: usize = 48 << 20;
/// Number of trials of each shape; its shortest time counts.
const ROUNDS: usize = 3;
/// Maximum share of the default's time with which a shape replaces it.
const CLEARLY: f64 = 0.95;

/// The shapes that kernels have on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Shapes {
    /// The identity of the measurement: processor, kernels, version of sotto.
    machine: String,
    /// The shapes of each kernel that has several.
    pub kernels: Vec<KernelShapes>,
    /// Milliseconds that measuring took; 0 for defaults.
    pub took_ms: f64,
}

/// The shapes of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelShapes {
    /// Name of the kernel: `scan`, `tiles` or `select`.
    pub kernel: String,
    /// The shape in use.
    pub shape: String,
    /// The default shape of the processor.
    pub default: String,
    /// All shapes that were tried.
    pub tried: Vec<Trial>,
}

/// The time of one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trial {
    /// Name of the shape.
    pub shape: String,
    /// The shortest of the shape's passes.
    pub best_ms: f64,
}

impl Shapes {
    /// Tries all shapes on one thread and uses the best from now on, except for pinned ones. Takes
    /// about 100 ms.
    ///
    /// # Errors
    /// [`BenchError::Storage`] if memory is not available.
    pub fn measure() -> Result<Self, BenchError> {
        let start = Instant::now();
        let mut buffer = HugeBuffer::zeroed(BUFFER)?;
        // Memory is written, since unwritten pages are all the one zero page.
        buffer.fill(0);
        let kernels = default_shapes().into_iter().map(|default| {
            let candidates = all_shapes(default.kernel);
            let mut times = vec![Duration::MAX; candidates.len()];
            for _ in 0..ROUNDS {
                for (shape, best) in candidates.iter().zip(&mut times) {
                    let start = Instant::now();
                    black_box(try_shape(*shape, &buffer));
                    *best = start.elapsed().min(*best);
                }
            }
            let tried = candidates.iter().zip(times);
            let tried = tried.map(|(shape, time)| Trial { shape: shape.name.into(), best_ms: ms(time) });
            let tried: Vec<Trial> = tried.collect();
            let shape = best(&tried, default.name).to_owned();
            KernelShapes { kernel: default.kernel.into(), shape, default: default.name.into(), tried }
        });
        let mut shapes = Shapes { machine: machine(), kernels: kernels.collect(), took_ms: 0.0 };
        shapes.took_ms = ms(start.elapsed());
        shapes.employ();
        Ok(shapes)
    }

    /// Loads the shapes of this machine from a file, if it has them, and uses them from now on.
    ///
    /// A file that is missing, incomplete, about another machine or of another version is ignored:
    /// measuring is quick.
    pub fn recall(file: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(file).ok().filter(|text| text.len() < 1 << 16)?;
        let shapes: Shapes = serde_json::from_str(&text).ok()?;
        (shapes.machine == machine()).then(|| {
            shapes.employ();
            shapes
        })
    }

    /// Writes the shapes into a file.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn keep(&self, file: &Path) -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(self)?;
        // The file is written beside and renamed, since two programs may start at once.
        let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&temporary, text)?;
        std::fs::rename(&temporary, file)
    }

    /// The shapes in one line for people: `scan wide, tiles plain, select plain`.
    pub fn line(&self) -> String {
        let each = self.kernels.iter().map(|kernel| format!("{} {}", kernel.kernel, kernel.shape));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The shapes as a value of the environment variable `SOTTO_SHAPES`.
    pub fn pin(&self) -> String {
        let each = self.kernels.iter().map(|kernel| format!("{}={}", kernel.kernel, kernel.shape));
        each.collect::<Vec<_>>().join(",")
    }

    /// The processor of the defaults, and their basis.
    pub fn default_of(&self) -> String {
        let (processor, measured) = processor();
        format!(
            "{processor}, {}",
            if measured { "measured on this processor" } else { "estimated, not measured" }
        )
    }

    /// Sets the shapes of the kernels. Unknown names are skipped.
    fn employ(&self) {
        for kernel in &self.kernels {
            choose_shape(&kernel.kernel, &kernel.shape);
        }
    }
}

/// The default shape, or one that is clearly faster.
fn best<'a>(tried: &'a [Trial], default: &'a str) -> &'a str {
    let of_default =
        tried.iter().find(|trial| trial.shape == default).map_or(f64::MAX, |trial| trial.best_ms);
    let fastest = tried.iter().min_by(|a, b| a.best_ms.total_cmp(&b.best_ms));
    fastest.filter(|trial| trial.best_ms <= CLEARLY * of_default).map_or(default, |trial| &trial.shape)
}

/// The identity of this machine and this build, for files that store its figures.
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
