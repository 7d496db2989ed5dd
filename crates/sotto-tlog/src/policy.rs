//! Trust policies of logs (`c2sp.org/tlog-policy`): which logs and witnesses are known, and which of
//! the witnesses have to have cosigned a checkpoint.
//!
//! ```text
//! log <vkey> [<url>]
//! witness <name> <vkey> [<url>]
//! group <name> all|any|<k> <name>...
//! quorum <name>|none
//! ```
//!
//! A group refers to what precedes it, so a quorum is computed line by line and without recursion.
//! Stricter than the specification: witnesses with one key name are one witness, which counts once;
//! and a log that is listed under two keys has to sign with both.
#![deny(clippy::indexing_slicing)]

use crate::note::{SignedNote, decimal};
use crate::{Checkpoint, CosignatureKind, LogError, LogKey, Result, WitnessKey};
use std::collections::BTreeMap;
use std::time::Duration;

/// Largest size of a policy in bytes: an ML-DSA-44 key has 1.8 KB.
pub const MAX_POLICY_BYTES: usize = 1 << 18;

/// Largest number of logs, of witnesses, and of groups.
pub const MAX_POLICY_LINES: usize = 64;

/// Maximum by which a witness's clock may be ahead of the reader's.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// The quorum that requires nobody.
const NONE: &[u8] = b"none";

/// A log that a policy lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLog {
    /// Key of the log.
    pub key: LogKey,
    /// Where the log is, if the policy says so.
    pub url: Option<String>,
}

/// A witness that a policy lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWitness {
    /// Name of the witness in the policy, in printable form.
    pub name: String,
    /// Key of the witness.
    pub key: WitnessKey,
    /// Where the witness is, if the policy says so.
    pub url: Option<String>,
}

/// A witness or a group, by its place in the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Witness(usize),
    Group(usize),
}

/// A group, of which `needed` members have to have witnessed a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    needed: usize,
    members: Vec<Member>,
}

/// A trust policy: known logs, known witnesses, and the quorum. By default it requires nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    logs: Vec<PolicyLog>,
    witnesses: Vec<PolicyWitness>,
    groups: Vec<Group>,
    /// What has to have witnessed a checkpoint; `None` for nobody.
    quorum: Option<Member>,
}

impl Policy {
    /// Parses a policy file. Total.
    ///
    /// # Errors
    /// [`LogError::TooLarge`]; [`LogError::Policy`], with the number of the line.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_POLICY_BYTES {
            return Err(LogError::TooLarge { what: "policy".into(), limit: MAX_POLICY_BYTES as u64 });
        }
        let mut parser = Parser::default();
        let Some(text) = bytes.strip_suffix(b"\n") else {
            let line = bytes.split(|byte| *byte == b'\n').count();
            return Err(LogError::Policy { line, why: "no newline at the end: the file was cut".into() });
        };
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            parser.line(text).map_err(|why| LogError::Policy { line, why })?;
            parser.lines = line;
        }
        parser.finish()
    }

    /// A policy that requires this many of these witnesses. Keys of one name are one witness: it has
    /// cosigned once it has under each algorithm of which a key is given, so nobody who names a key
    /// of ML-DSA-44 is satisfied with Ed25519.
    pub fn threshold(keys: &[WitnessKey], needed: usize) -> Self {
        let mut policy = Policy { logs: Vec::new(), witnesses: Vec::new(), groups: Vec::new(), quorum: None };
        let mut names: BTreeMap<&str, BTreeMap<CosignatureKind, Vec<Member>>> = BTreeMap::new();
        for key in keys {
            if policy.witnesses.iter().any(|witness| witness.key == *key) {
                continue;
            }
            let kinds = names.entry(key.name()).or_default();
            kinds.entry(key.kind()).or_default().push(Member::Witness(policy.witnesses.len()));
            policy.witnesses.push(PolicyWitness { name: key.name().into(), key: key.clone(), url: None });
        }
        let members: Vec<Member> = names
            .into_values()
            .map(|kinds| {
                let kinds: Vec<Member> = kinds.into_values().map(|keys| policy.group(1, keys)).collect();
                policy.group(kinds.len(), kinds)
            })
            .collect();
        policy.groups.push(Group { needed, members });
        policy.quorum = Some(Member::Group(policy.groups.len() - 1));
        policy
    }

    /// Adds a group, unless it is of one member alone.
    fn group(&mut self, needed: usize, members: Vec<Member>) -> Member {
        if let [member] = *members.as_slice() {
            return member;
        }
        self.groups.push(Group { needed, members });
        Member::Group(self.groups.len() - 1)
    }

    /// The logs that the policy lists; none if any log will do.
    pub fn logs(&self) -> &[PolicyLog] {
        &self.logs
    }

    /// The witnesses that the policy lists.
    pub fn witnesses(&self) -> &[PolicyWitness] {
        &self.witnesses
    }

    /// Number of members of the quorum that have to have witnessed a checkpoint, and number of all.
    pub fn quorum_size(&self) -> (usize, usize) {
        match self.quorum {
            None => (0, self.witnesses.len()),
            Some(Member::Witness(_)) => (1, 1),
            Some(Member::Group(group)) => {
                self.groups.get(group).map_or((1, 0), |group| (group.needed, group.members.len()))
            }
        }
    }

    /// Verifies that a checkpoint is of a log that the policy lists. Of a log with several keys, all
    /// have to have signed.
    ///
    /// # Errors
    /// [`LogError::NotListed`], and the errors of [`Checkpoint::open`].
    pub fn verify_log(&self, note: &[u8]) -> Result<()> {
        if self.logs.is_empty() {
            return Ok(());
        }
        let origin = Checkpoint::parse_text(&SignedNote::parse(note)?.text)?.origin;
        let keys: Vec<&LogKey> = self.keys_of_log(&origin).collect();
        if keys.is_empty() {
            return Err(LogError::NotListed(origin));
        }
        keys.into_iter().try_for_each(|key| Checkpoint::open(note, key).map(drop))
    }

    /// The keys under which the policy lists a log.
    pub fn keys_of_log<'a>(&'a self, origin: &'a str) -> impl Iterator<Item = &'a LogKey> {
        self.logs.iter().map(|log| &log.key).filter(move |key| key.origin() == origin)
    }

    /// Times at which each witness cosigned a note, in the policy's order; `None` for those who did
    /// not, or after `latest`: such a time is not true.
    ///
    /// # Errors
    /// [`LogError::BadSignature`] for a line that claims to be of a witness, but is not.
    pub fn cosigned(&self, note: &SignedNote, latest: u64) -> Result<Vec<Option<u64>>> {
        let time = |witness: &PolicyWitness| witness.key.cosigned(note);
        let times = self.witnesses.iter().map(|witness| Ok(time(witness)?.filter(|time| *time <= latest)));
        times.collect()
    }

    /// The time since which the quorum has cosigned, from those of the witnesses: the earliest of
    /// the latest cosignatures that suffice. `None` without a quorum, [`u64::MAX`] if nobody is
    /// required.
    pub fn quorum_time(&self, times: &[Option<u64>]) -> Option<u64> {
        let Some(quorum) = self.quorum else { return Some(u64::MAX) };
        self.fold(
            quorum,
            |witness| times.get(witness).copied().flatten(),
            |group, members| {
                let mut members: Vec<u64> = members.iter().filter_map(|time| *time).collect();
                members.sort_unstable_by(|a, b| b.cmp(a));
                members.get(group.needed.checked_sub(1)?).copied()
            },
        )
        .flatten()
    }

    /// Number of cosignatures that the quorum needs at least, and how many of those are there.
    pub fn quorum_count(&self, times: &[Option<u64>]) -> (usize, usize) {
        let missing = |is_there: &dyn Fn(usize) -> bool| {
            let Some(quorum) = self.quorum else { return 0 };
            let count = self.fold(
                quorum,
                |witness| usize::from(!is_there(witness)),
                |group, members| {
                    let mut members = members.to_vec();
                    members.sort_unstable();
                    members.iter().take(group.needed).sum()
                },
            );
            count.unwrap_or(0)
        };
        let needed = missing(&|_| false);
        let left = missing(&|witness| times.get(witness).is_some_and(Option::is_some));
        (needed, needed.saturating_sub(left))
    }

    /// Computes a value of the quorum from those of the witnesses, through the groups in their order:
    /// each refers to earlier ones alone.
    fn fold<T: Clone>(
        &self,
        quorum: Member,
        witness: impl Fn(usize) -> T,
        join: impl Fn(&Group, &[T]) -> T,
    ) -> Option<T> {
        let mut values: Vec<T> = Vec::with_capacity(self.groups.len());
        let of = |member: &Member, values: &[T]| match *member {
            Member::Witness(index) => Some(witness(index)),
            Member::Group(index) => values.get(index).cloned(),
        };
        for group in &self.groups {
            let members: Vec<T> = group.members.iter().filter_map(|member| of(member, &values)).collect();
            values.push(join(group, &members));
        }
        of(&quorum, &values)
    }
}

/// A policy that is being read.
#[derive(Default)]
struct Parser {
    logs: Vec<PolicyLog>,
    witnesses: Vec<PolicyWitness>,
    groups: Vec<Group>,
    names: BTreeMap<Vec<u8>, Name>,
    quorum: Option<Option<Member>>,
    /// Number of lines so far.
    lines: usize,
}

/// What a name of the policy stands for.
struct Name {
    member: Member,
    /// Whether a group has it as a member: none may twice.
    is_grouped: bool,
}

/// Outcome of a line, with what is wrong with it.
type LineResult<T = ()> = std::result::Result<T, String>;

impl Parser {
    fn line(&mut self, text: &[u8]) -> LineResult {
        if text.iter().any(|byte| *byte != b'\t' && (*byte < b' ' || *byte == 0x7f)) {
            return Err("control characters".into());
        }
        let mut words = text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let Some(keyword) = words.next() else { return Ok(()) };
        if keyword.starts_with(b"#") {
            return Ok(());
        }
        let words: Vec<&[u8]> = words.collect();
        match (keyword, words.as_slice()) {
            (b"log", [key, url @ ..]) => self.log(key, url),
            (b"witness", [name, key, url @ ..]) => self.witness(name, key, url),
            (b"group", [name, needed, members @ ..]) if !members.is_empty() => {
                self.group(name, needed, members)
            }
            (b"quorum", [name]) => self.set_quorum(name),
            (b"log", _) => Err("expected: log VKEY [URL]".into()),
            (b"witness", _) => Err("expected: witness NAME VKEY [URL]".into()),
            (b"group", _) => Err("expected: group NAME all|any|K NAME...".into()),
            (b"quorum", _) => Err("expected: quorum NAME".into()),
            _ => Err(format!("expected log, witness, group or quorum, got {:?}", printable(keyword))),
        }
    }

    fn log(&mut self, key: &[u8], url: &[&[u8]]) -> LineResult {
        full(self.logs.len(), "logs")?;
        let text = std::str::from_utf8(key).map_err(|_| "the log's key is not UTF-8")?;
        let key: LogKey = text.parse().map_err(|error: LogError| error.to_string())?;
        if text.split('+').count() < 3 {
            return Err("the log's key is not of the form NAME+ID+BASE64".into());
        }
        if self.logs.iter().any(|log| log.key.is_same_key(&key)) {
            return Err("a line above has the same key of a log".into());
        }
        self.logs.push(PolicyLog { key, url: only_url(url)? });
        Ok(())
    }

    fn witness(&mut self, name: &[u8], key: &[u8], url: &[&[u8]]) -> LineResult {
        full(self.witnesses.len(), "witnesses")?;
        let key = std::str::from_utf8(key).map_err(|_| "the witness's key is not UTF-8")?;
        let key: WitnessKey = key.parse().map_err(|error: LogError| error.to_string())?;
        if self.witnesses.iter().any(|witness| witness.key.is_same_key(&key)) {
            return Err("a line above has the same key of a witness".into());
        }
        self.define(name, Member::Witness(self.witnesses.len()))?;
        self.witnesses.push(PolicyWitness { name: printable(name), key, url: only_url(url)? });
        Ok(())
    }

    fn group(&mut self, name: &[u8], needed: &[u8], names: &[&[u8]]) -> LineResult {
        full(self.groups.len(), "groups")?;
        let all = names.len();
        let needed = match needed {
            b"all" => all,
            b"any" => 1,
            number => {
                let number = std::str::from_utf8(number).ok().and_then(decimal);
                let number = number.and_then(|number| usize::try_from(number).ok());
                let number = number.filter(|number| (1..=all).contains(number));
                number
                    .ok_or_else(|| format!("expected all, any or a number from 1 to {all} after the name"))?
            }
        };
        let mut members = Vec::new();
        for name in names {
            let named = self.names.get_mut(*name);
            let named = named.ok_or_else(|| format!("no line above defines {:?}", printable(name)))?;
            if std::mem::replace(&mut named.is_grouped, true) {
                return Err(format!("{:?} is a member of a group already", printable(name)));
            }
            members.push(named.member);
        }
        self.check_witnesses(&members, needed)?;
        self.define(name, Member::Group(self.groups.len()))?;
        self.groups.push(Group { needed, members });
        Ok(())
    }

    /// Refuses a group in which one witness could count twice, or that has one of its keys where
    /// another group has another.
    fn check_witnesses(&self, members: &[Member], needed: usize) -> LineResult {
        let key_name = |member: &Member| match *member {
            Member::Witness(index) => self.witnesses.get(index).map(|witness| witness.key.name()),
            Member::Group(_) => None,
        };
        let mut seen = std::collections::BTreeSet::new();
        let is_twice = members.iter().filter_map(key_name).any(|name| !seen.insert(name));
        if is_twice && needed != 1 && needed != members.len() {
            return Err("a witness has two keys here and could count twice: put them into an `all` group \
                        of their own"
                .into());
        }
        let mut others = self.groups.iter().flat_map(|group| &group.members).filter_map(key_name);
        match others.find(|name| seen.contains(name)) {
            Some(name) => Err(format!("witness {name:?} is in another group under another key")),
            None => Ok(()),
        }
    }

    fn set_quorum(&mut self, name: &[u8]) -> LineResult {
        if self.quorum.is_some() {
            return Err("a line above has the quorum".into());
        }
        let named = self.names.get(name).map(|named| Some(named.member));
        let named = named.or((name == NONE).then_some(None));
        self.quorum = Some(named.ok_or_else(|| format!("no line above defines {:?}", printable(name)))?);
        Ok(())
    }

    fn define(&mut self, name: &[u8], member: Member) -> LineResult {
        if name == NONE {
            return Err("the name none is reserved".into());
        }
        match self.names.insert(name.to_vec(), Name { member, is_grouped: false }) {
            Some(_) => Err(format!("a line above defines {:?}", printable(name))),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Policy> {
        let missing = || LogError::Policy { line: self.lines, why: "the file has no quorum line".into() };
        let quorum = self.quorum.ok_or_else(missing)?;
        Ok(Policy { logs: self.logs, witnesses: self.witnesses, groups: self.groups, quorum })
    }
}

/// Refuses one more line than there may be.
fn full(lines: usize, what: &str) -> LineResult {
    if lines < MAX_POLICY_LINES { Ok(()) } else { Err(format!("more than {MAX_POLICY_LINES} {what}")) }
}

/// The URL at the end of a line, if there is one.
fn only_url(words: &[&[u8]]) -> LineResult<Option<String>> {
    match words {
        [] => Ok(None),
        [url] => Ok(Some(printable(url))),
        _ => Err("expected nothing after the URL".into()),
    }
}

/// A name of the policy, which may have any bytes, as text for people.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, "\u{fffd}")
}
