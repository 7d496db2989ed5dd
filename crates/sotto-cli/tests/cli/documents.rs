//! Every command of the README, of the guides and of the cookbook, run as it stands there: one shell for each page, from top to
//! bottom.
//!
//! Blocks marked `sh` are commands. Blocks marked `console` are commands after a dollar sign, and what they print. Ports are
//! replaced by free ones, so that tests may run side by side, and each server is waited for. What builds this program (`make`,
//! `cargo`) is not run again; its targets and paths are looked for.
//!
//! And the figures of `docs/schemes.md`: the committed results, the plot that is drawn from them, and
//! the table.

use crate::harness::{Folder, program, sotto};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};

const HOST: &str = "127.0.0.1:";

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A document's commands, a line each, and what it says that they print.
fn session(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut commands, mut printed) = (Vec::new(), Vec::new());
    let mut block = None;
    let mut open = String::new();
    for line in text.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(kind), None) => block = Some(kind),
            (Some(_), Some(_)) => block = None,
            (None, Some("sh")) => open.push_str(line),
            (None, Some("console")) => match line.strip_prefix("$ ") {
                Some(command) => open.push_str(command),
                None => printed.push(line.to_owned()),
            },
            (None, _) => {}
        }
        // A command may go on in the next line.
        match open.strip_suffix('\\') {
            Some(part) => open = part.to_owned(),
            None if open.is_empty() => {}
            None => commands.push(std::mem::take(&mut open)),
        }
    }
    (commands, printed)
}

/// Free ports in place of those that a document names.
#[derive(Default)]
struct Ports {
    free: BTreeMap<String, TcpListener>,
    servers: usize,
}

impl Ports {
    fn of(&mut self, named: &str) -> String {
        // Below the ports that the system gives to connections, and each once, so that nothing takes it
        // before the document's server does.
        static TRIED: AtomicU16 = AtomicU16::new(0);
        let start = std::process::id() as u16 % 100 * 100;
        let ports = (0..10_000).map(|_| 20_000 + (start + TRIED.fetch_add(1, Relaxed)) % 10_000);
        let bind = |port| TcpListener::bind((HOST.trim_end_matches(':'), port)).ok();
        let free = || ports.into_iter().find_map(bind).unwrap();
        let listener = self.free.entry(named.to_owned()).or_insert_with(free);
        listener.local_addr().unwrap().port().to_string()
    }

    /// A line with all of its ports replaced.
    fn replaced(&mut self, line: &str) -> String {
        let mut parts = line.split(HOST);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (port, rest) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len()));
            out.push_str(&format!("{HOST}{}{rest}", self.of(port)));
        }
        out
    }

    /// A server with the ports that it would take, and a wait for it.
    fn served(&mut self, line: &str) -> String {
        let (command, comment) = line.split_once('&').unwrap();
        assert!(comment.trim().is_empty() || comment.trim().starts_with('#'), "{line}");
        let mut command = command.to_owned();
        for (option, usual) in [(" --listen ", "8080"), (" --admin-listen ", "8081")] {
            if !command.contains(option) && !command.contains("--config") {
                command.push_str(&format!("{option}{HOST}{usual}"));
            }
        }
        // It says where it serves when it does.
        self.servers += 1;
        let said = format!("\"$HOME/served-{}\"", self.servers);
        let wait = format!("until grep -q 'serving on' {said}; do kill -0 $!; sleep 0.05; done; cat {said}");
        format!("touch {said}; {} > {said} &\n{wait}", self.replaced(&command).trim_end())
    }
}

/// The shell script of a document's commands.
fn script(commands: &[String]) -> String {
    let mut ports = Ports::default();
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let mut lines = vec!["set -euo pipefail".to_owned(), "trap 'kill $(jobs -p) || true' EXIT".to_owned()];
    for command in commands {
        let mut words = command.split_whitespace();
        match (words.next(), words.next()) {
            (Some("make"), Some(target)) => {
                assert!(makefile.contains(&format!("\n{target}:")), "make {target}");
            }
            (Some("cargo"), _) => {
                for path in command.split_whitespace().skip_while(|word| *word != "--path").skip(1).take(1) {
                    assert!(root().join(path).is_dir(), "{command}");
                }
            }
            (Some("sotto"), Some("serve")) if command.contains('&') => lines.push(ports.served(command)),
            _ => lines.push(ports.replaced(command)),
        }
    }
    // Listened on until now, so that no two are the same.
    drop(ports);
    lines.join("\n")
}

fn runs(document: &str) {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let (commands, printed) = session(&text);
    assert!(!commands.is_empty(), "{document} has no commands");
    let folder = Folder::new();
    // A reader is in the repository's folder; output goes elsewhere.
    for name in ["data", "lab", "crates", "spec"] {
        std::os::unix::fs::symlink(root().join(name), folder.at(name)).unwrap();
    }
    let home = folder.at("home");
    std::fs::create_dir(&home).unwrap();
    let bin = Path::new(program()).parent().unwrap().to_str().unwrap();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let script = script(&commands);
    let out = std::fs::File::create(folder.at("printed")).unwrap();
    let mut child = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.at(""))
        .env("PATH", path)
        .env("HOME", &home)
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(300);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if Instant::now() > patience {
            // Servers in the background end with the shell that started them.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let got = std::fs::read_to_string(folder.at("printed")).unwrap();
    assert!(status.is_some_and(|status| status.success()), "{document}: {status:?}\n{script}\n\n{got}");
    // Figures differ from run to run; what they are called does not.
    for line in printed {
        let first = line.split_whitespace().next().unwrap_or_default();
        let figure = first.starts_with(|c: char| c.is_ascii_digit());
        assert!(figure || got.contains(first), "{document} says that {line:?} is printed; what is:\n{got}");
    }
}

/// A test for each page, so that they run side by side.
macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $name() {
                runs($page);
            }
        )*
    };
}

pages! {
    the_readme: "README.md",
    operators: "docs/operators.md",
    developers: "docs/developers.md",
    researchers: "docs/researchers.md",
    planning: "docs/planning.md",
    languages: "docs/reference/languages.md",
    passwords: "docs/cookbook/passwords.md",
    blocklist: "docs/cookbook/blocklist.md",
    callers: "docs/cookbook/callers.md",
    certificates: "docs/cookbook/certificates.md",
    phones: "docs/cookbook/phones.md",
    places: "docs/cookbook/places.md",
    wallets: "docs/cookbook/wallets.md",
    directory: "docs/cookbook/directory.md",
    documents: "docs/cookbook/documents.md",
}

#[test]
fn the_readme_names_the_field_and_fits_two_screens() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let first = text.split("\n\n").nth(1).unwrap();
    assert!(first.starts_with("sotto is a private information retrieval (PIR) toolkit"), "{first}");
    assert!(text.lines().count() <= 110, "{} lines", text.lines().count());
}

/// A page whose commands need more than this program, and the test that runs them.
const ELSEWHERE: (&str, &str) = ("docs/ray.md", "bindings/ray/tests/test_guide.py");

#[test]
fn no_page_with_commands_is_left_out() {
    let (page, test) = ELSEWHERE;
    assert!(std::fs::read_to_string(root().join(test)).unwrap().contains(page), "{test} does not run {page}");
    for folder in ["docs", "docs/cookbook"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let page = format!("{folder}/{name}");
            if name.ends_with(".md") && page != ELSEWHERE.0 && !PAGES.contains(&page.as_str()) {
                let text = std::fs::read_to_string(root().join(&page)).unwrap();
                assert!(session(&text).0.is_empty(), "{page} has commands that no test runs");
            }
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn results() -> Vec<Value> {
    let results: Value = serde_json::from_str(&read("lab/sotto-bench/results/all-schemes.json")).unwrap();
    results["lookups"].as_array().unwrap().clone()
}

fn name(lookup: &Value) -> &str {
    lookup["scheme"].as_str().unwrap()
}

/// A definition that computes the sizes of the schemes in the results, on their shapes.
fn definition(results: &[Value]) -> String {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for lookup in results {
        let shape = lookup["shape"].as_str().unwrap();
        lines.entry(shape).or_default().push(format!("{{ scheme = {:?} }}", name(lookup)));
    }
    let mut text = "name = \"sizes\"\nabout = \"Sizes of every scheme.\"\n".to_owned();
    for (shape, lines) in lines {
        let (rows, bytes) = shape.trim_end_matches(" B").split_once(" x ").unwrap();
        let lines = lines.join(", ");
        text += &format!("[[case]]\nrows = {rows:?}\nrow_bytes = {bytes}\nsizes = true\nlines = [{lines}]\n");
    }
    text
}

#[test]
fn the_plot_has_every_scheme_with_its_sizes_of_today() {
    let results = results();
    let folder = Folder::new();
    std::fs::write(folder.at("sizes.toml"), definition(&results)).unwrap();
    let report = sotto(&["bench", &folder.text("sizes.toml"), "--json"]).json();
    let modeled = report["modeled"].as_array().unwrap();
    let of_today = |lookup: &Value| {
        let scheme = modeled.iter().find(|scheme| scheme["title"] == lookup["scheme"]).unwrap();
        scheme["traffic"].clone()
    };
    for lookup in &results {
        for bytes in ["once_bytes", "keys_bytes", "up_bytes", "down_bytes"] {
            assert_eq!(lookup[bytes], of_today(lookup)[bytes], "{bytes} of {}", name(lookup));
        }
        assert!(lookup["server_ms"].as_f64() > Some(0.0), "{lookup}");
    }
    // What a reader sees of a scheme is what its entry says. Versions of a scheme share a point.
    for entry in sotto_registry::SCHEMES.iter().filter(|entry| !entry.is_downloadable()) {
        let id = entry.id.0;
        let (scheme, _) = id.split_once('/').unwrap();
        let lookup = results.iter().find(|lookup| name(lookup) == scheme);
        let lookup =
            lookup.unwrap_or_else(|| panic!("lab/sotto-bench/results/all-schemes.json has no {scheme}"));
        assert_eq!(lookup["servers_count"], entry.servers, "{scheme}");
        assert_eq!(lookup["client_keeps"] == "state", entry.state.is_some(), "{scheme}");
        assert!(read("docs/schemes.md").contains(&format!("| [`{scheme}`](")), "{scheme}");
    }
}

#[test]
fn the_plot_is_what_its_results_draw() {
    let drawn = Command::new("python3").arg(root().join("lab/sotto-bench/plot.py")).output();
    // Where there is no Python, the site's check says so; the names are there in any case.
    let plot = read("docs/schemes.svg");
    if let Ok(drawn) = drawn {
        let said = String::from_utf8_lossy(&drawn.stderr);
        assert!(drawn.status.success(), "{said}");
        assert_eq!(
            String::from_utf8(drawn.stdout).unwrap(),
            plot,
            "run: lab/sotto-bench/plot.py > docs/schemes.svg"
        );
    }
    for lookup in results() {
        assert!(plot.contains(&format!(">{}</text>", name(&lookup))), "{}", name(&lookup));
    }
}
