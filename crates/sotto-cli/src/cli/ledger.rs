//! The command's pages of the ability ledger: what can be typed, the help, and the exit codes.

use crate::cli::command;
use clap::{Arg, ArgAction, Command};
use sotto_testkit::ledger;
use std::fmt::Write;

/// Whether this build has the features of a usual one.
const IS_USUAL: bool = cfg!(all(feature = "schemes", feature = "parquet", feature = "zstd"))
    && !cfg!(any(feature = "gpu", feature = "ohttp", feature = "opentelemetry"));

/// Every verb by its full name, the command itself first.
fn verbs() -> Vec<(String, Command)> {
    let mut command = command();
    command.build();
    let mut all = Vec::new();
    let mut rest = vec![("sotto".to_owned(), command)];
    while let Some((name, command)) = rest.pop() {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        rest.extend(below.map(|verb| (format!("{name} {}", verb.get_name()), verb.clone())));
        all.push((name, command));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

/// A list in brackets that only the debug text of an argument has, such as what it requires.
fn listed(debug: &str, field: &str) -> Option<String> {
    let (_, rest) = debug.rsplit_once(&format!(", {field}: ["))?;
    let mut depth = 1_i32;
    let end = rest.find(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth == 0
    })?;
    // The value of a flag, and the presence of another argument, need not be listed.
    let list = rest[..end].replace('"', "").replace("(IsPresent, ", "").replace(')', "");
    (!list.is_empty() && list != "true").then(|| format!("{field}=[{list}]"))
}

/// The name as it is typed, or the name of a positional value.
fn typed(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("--{long} -{short}"),
        (Some(long), None) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => format!("<{}>", arg.get_id()),
    }
}

/// The line of one argument.
fn line(verb: &Command, arg: &Arg) -> String {
    let mut words = vec![typed(arg)];
    words.extend(arg.get_index().map(|place| format!("place={place}")));
    if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default();
        words.push(names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" "));
        words.extend(
            arg.get_num_args().filter(|range| *range != 1.into()).map(|range| format!("values={range}")),
        );
    }
    words.extend(match arg.get_action() {
        ArgAction::Append => Some("repeatable".to_owned()),
        ArgAction::Count => Some("counted".to_owned()),
        _ => None,
    });
    let flags = [
        (arg.is_required_set(), "required"),
        (arg.is_global_set(), "global"),
        (arg.is_hide_set(), "hidden"),
        (arg.is_exclusive_set(), "exclusive"),
        (arg.is_last_set(), "last"),
        (arg.is_allow_hyphen_values_set(), "hyphens"),
    ];
    words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| (*name).to_owned()));
    words.extend(arg.get_all_aliases().map(|aliases| format!("aliases=[{}]", aliases.join(", "))));
    words.extend(arg.get_value_delimiter().map(|delimiter| format!("delimiter={delimiter:?}")));
    if arg.get_action().takes_values() {
        let joined = |values: Vec<String>| (!values.is_empty()).then(|| values.join("|"));
        let values = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        words.extend(joined(values).map(|values| format!("one of {values}")));
        let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
        words.extend(joined(defaults.collect()).map(|value| format!("default={value}")));
    }
    let mut conflicts: Vec<String> = verb.get_arg_conflicts_with(arg).into_iter().map(typed).collect();
    conflicts.sort();
    conflicts.dedup();
    if !conflicts.is_empty() {
        words.push(format!("conflicts=[{}]", conflicts.join(", ")));
    }
    let debug = format!("{arg:?}");
    let listed =
        ["groups", "requires", "r_ifs", "r_unless", "overrides", "default_vals_ifs", "default_missing_vals"]
            .iter()
            .filter_map(|field| listed(&debug, field));
    words.extend(listed);
    words.join(" ")
}

#[test]
fn ledger_of_the_command_line() {
    if !IS_USUAL {
        return;
    }
    let mut text = String::new();
    for (name, verb) in verbs() {
        writeln!(text, "{name}").unwrap();
        let is_own = |arg: &&Arg| {
            !matches!(arg.get_id().as_str(), "help" | "version") && (name == "sotto" || !arg.is_global_set())
        };
        let mut lines: Vec<String> =
            verb.get_arguments().filter(is_own).map(|arg| line(&verb, arg)).collect();
        lines.sort();
        // Groups that `derive` makes of every struct are left out.
        let groups = verb.get_groups().filter(|group| {
            group.is_required_set() || !group.get_id().as_str().starts_with(char::is_uppercase)
        });
        let mut groups: Vec<String> = groups
            .map(|group| {
                let members: Vec<&str> = group.get_args().map(|id| id.as_str()).collect();
                let required = if group.is_required_set() { " required" } else { "" };
                let multiple = if group.clone().is_multiple() { " multiple" } else { "" };
                format!("group {}{required}{multiple}: {}", group.get_id(), members.join(", "))
            })
            .collect();
        groups.sort();
        lines.extend(groups);
        lines.iter().for_each(|line| writeln!(text, "  {line}").unwrap());
    }
    ledger::check("cli.txt", &text);
}

/// Without a terminal, clap decides the width of the help.
#[test]
fn ledger_of_the_help() {
    if !IS_USUAL {
        return;
    }
    let mut text = String::new();
    for (name, verb) in verbs() {
        let help = verb.term_width(120).render_long_help().to_string();
        writeln!(text, "==== {name}\n{}\n", help.trim_end()).unwrap();
    }
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    ledger::check("help.txt", &text);
}
