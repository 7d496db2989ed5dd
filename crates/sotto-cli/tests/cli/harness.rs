//! Running the command, and a server next to it.

use crate::schemas;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_sotto")
}

/// The result of a finished command.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the command to its end, in an environment that keeps nothing of the person who tests. Where
/// an encoding names no scheme, the test looks at queries and not at the choice: it gets SimplePIR.
pub(crate) fn sotto<S: AsRef<OsStr>>(args: &[S]) -> Outcome {
    let mut args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    let names = |option: &&OsStr| ["--scheme", "--plan", "--apple"].iter().any(|name| option == name);
    if args.first().is_some_and(|verb| *verb == "encode") && !args.iter().any(names) {
        args.extend(["--scheme", "simplepir"].map(OsStr::new));
    }
    unchanged(&args)
}

/// Runs the command as [`sotto`] does, with these arguments and no others.
pub(crate) fn unchanged<S: AsRef<OsStr>>(args: &[S]) -> Outcome {
    let mut command = assert_cmd::Command::new(program());
    command
        .env_remove("HOME")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_STATE_HOME")
        .args(args)
        .timeout(Duration::from_secs(300));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let args: Vec<String> = args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect();
    schemas::check(&args, &stdout, &stderr);
    Outcome { code: output.status.code().expect("ended by a signal"), stdout, stderr }
}

/// Runs a command line, whose words have no spaces.
pub(crate) fn run(line: &str) -> Outcome {
    sotto(&line.split(' ').collect::<Vec<_>>())
}

impl Outcome {
    /// The JSON a successful command printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_str(self.stdout.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// Checks that the command succeeded and printed this.
    #[track_caller]
    pub(crate) fn prints(&self, words: &str) {
        assert_eq!(self.code, 0, "{}", self.stderr);
        assert!(self.stdout.contains(words), "no {words:?} in: {}", self.stdout);
    }

    /// Checks that the command failed with `code` and says each of `words`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in: {}", self.stderr);
        }
    }
}

/// A folder that is removed when it is dropped.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A path inside.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of a name in the folder, as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    /// The files in a subfolder.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        std::fs::read_dir(self.at(name)).unwrap().map(|file| file.unwrap().path()).collect()
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.at(name), bytes).unwrap();
        self.text(name)
    }

    /// A file of rows `row 0`, `row 1`, ...
    pub(crate) fn lines(&self, rows: usize) -> String {
        self.write("words.csv", (0..rows).map(|row| format!("row {row}\n")).collect::<String>())
    }

    /// Encodes a file as table `name`, with options whose words have no spaces; gives its directory.
    pub(crate) fn encode(&self, name: &str, source: &str, options: &str) -> String {
        let dir = self.text(name);
        let encoded = run(&format!("encode {source} --out {dir} {options}"));
        assert_eq!(encoded.code, 0, "{}", encoded.stderr);
        dir
    }

    /// Encodes so many rows as table `words`; gives its directory.
    pub(crate) fn words(&self, rows: usize) -> String {
        self.encode("words", &self.lines(rows), "--value 1 --row-bytes 12")
    }
}

/// The names of the images in a directory.
pub(crate) fn images(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".sotto")).collect();
    names.sort();
    names
}

/// `sotto serve` as a process of its own; killed when dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) admin: String,
    /// What it said of its tables when it began.
    pub(crate) tables: Value,
    lines: BufReader<std::process::ChildStdout>,
}

impl Served {
    /// Serves directories on free ports.
    pub(crate) fn start(dirs: &[&str]) -> Self {
        Served::start_to(dirs, Stdio::inherit())
    }

    /// Starts a server whose log goes to `log`.
    pub(crate) fn start_to(dirs: &[&str], log: Stdio) -> Self {
        Served::start_at("127.0.0.1:0", dirs, log)
    }

    /// Starts a server at an address that an earlier server had.
    pub(crate) fn start_at(listen: &str, dirs: &[&str], log: Stdio) -> Self {
        let mut child = Command::new(program())
            .arg("serve")
            .args(dirs)
            .args(["--listen", listen, "--admin-listen", "127.0.0.1:0", "--reload-seconds", "0"])
            .args(["--json", "--log", "warn"])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        schemas::check_line("serve", &first);
        let hello: Value = serde_json::from_str(&first).unwrap_or_else(|error| panic!("{error}: {first:?}"));
        assert_eq!(hello["event"], "serving");
        let address = |name: &str| hello[name].as_str().unwrap().to_owned();
        let (url, admin, tables) = (address("public"), address("admin"), hello["tables"].clone());
        Served { url, admin, tables, child, lines }
    }

    /// Makes it look for new epochs now.
    pub(crate) fn reload(&self) {
        self.ask_admin("POST /reload");
    }

    /// The response of the admin address to a request without a body.
    pub(crate) fn ask_admin(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.admin.strip_prefix("http://").unwrap()).unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nsotto-admin: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// Ends it as a supervisor would; returns its exit code and the last line it printed.
    pub(crate) fn end(mut self) -> (i32, String) {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        let code = wait(&mut self.child).code().expect("it ends by itself");
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest.lines().for_each(|line| schemas::check_line("serve", line));
        (code, rest.lines().last().unwrap_or_default().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended already in tests that end it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a process, but not for ever.
pub(crate) fn wait(child: &mut Child) -> std::process::ExitStatus {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < patience, "the process does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}
