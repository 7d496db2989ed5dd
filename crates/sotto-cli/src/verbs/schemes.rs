//! `sotto encode --scheme ?` and `--set ?`: lists the choices. Handled before the command line is
//! parsed, since there is no file to encode yet.

use crate::failure::{Failure, Result};
use crate::screen::{Screen, grid};
use serde_json::{Value, json};
use sotto_core::{NamedSet, SchemeEntry};
use std::ffi::OsString;

/// The list that was requested.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ListRequest {
    /// All schemes.
    Schemes,
    /// The parameter sets of a scheme, or of all schemes if none was named.
    Sets(Option<String>),
}

impl ListRequest {
    /// The request in a command line, if it is one.
    pub(crate) fn of(args: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
        if words.iter().find(|word| !word.starts_with('-')) != Some(&"encode") {
            return None;
        }
        let (scheme, set) = (value(&words, "--scheme"), value(&words, "--set"));
        match (scheme, set) {
            (Some("?"), _) => Some(ListRequest::Schemes),
            (scheme, Some("?")) => Some(ListRequest::Sets(scheme.map(str::to_owned))),
            _ => None,
        }
    }

    /// Prints the list.
    pub(crate) fn answer(self, screen: Screen) -> Result<()> {
        let entries = match &self {
            ListRequest::Schemes | ListRequest::Sets(None) => sotto_registry::SCHEMES.to_vec(),
            ListRequest::Sets(Some(name)) => vec![super::scheme(name).map_err(Failure::usage)?.entry()],
        };
        match &self {
            ListRequest::Schemes => {
                let lines = entries.iter().map(|entry| (entry.id.0, entry.metadata.title.to_owned()));
                screen.say(grid::facts(lines))?;
                screen.say("\n`sotto encode --scheme NAME --set ?` lists a scheme's parameter sets.")?;
            }
            ListRequest::Sets(_) => entries.iter().try_for_each(|entry| sets(entry, screen))?,
        }
        screen
            .report(&json!({ "schemes": entries.iter().map(|entry| scheme_json(entry)).collect::<Vec<_>>() }))
    }
}

/// The value of an option: the next word, or what follows its equals sign.
fn value<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word.split('=').next() == Some(name))?;
    words.get(at)?.split_once('=').map(|(_, value)| value).or_else(|| words.get(at + 1).copied())
}

fn sets(entry: &SchemeEntry, screen: Screen) -> Result<()> {
    let sets = (entry.sets)();
    if sets.is_empty() {
        return screen.say(format!("{} has no named sets: it fits itself to the table\n", entry.id));
    }
    screen.say(format!("{}\n", entry.id))?;
    let lines = sets.iter().map(|NamedSet { name, about }| (*name, (*about).to_owned()));
    screen.say(format!("{}\n", grid::facts(lines)))
}

fn scheme_json(entry: &SchemeEntry) -> Value {
    let sets =
        (entry.sets)().into_iter().map(|NamedSet { name, about }| json!({ "name": name, "about": about }));
    json!({ "id": entry.id.0, "title": entry.metadata.title, "sets": sets.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_asks_and_nothing_else_does() {
        let asked = |line: &str| ListRequest::of(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("sotto encode --scheme ?"), Some(ListRequest::Schemes));
        assert_eq!(asked("sotto --json encode --scheme=?"), Some(ListRequest::Schemes));
        assert_eq!(asked("sotto encode --set ?"), Some(ListRequest::Sets(None)));
        let named = Some(ListRequest::Sets(Some("spiral".to_owned())));
        assert_eq!(asked("sotto encode x.csv --set ? --scheme spiral"), named);
        for other in
            ["sotto", "sotto get --set ?", "sotto encode ?", "sotto encode --set", "sotto encode --set small"]
        {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
