//! The scheme fields of a case: once in the case, or once in each line of a case that compares
//! several.

use super::fields::GoalName;
use serde::Deserialize;
use serde_json::{Map, Value};
use sotto_core::Goal;

/// Maximum length of a line's name: the width of a report's first column.
const MAX_NAME: usize = 28;

/// A scheme, and the choice of its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineText {
    scheme: String,
    name: Option<String>,
    set: Option<String>,
    goal: Option<GoalName>,
    #[serde(default)]
    params: Map<String, Value>,
}

/// The scheme fields of a case with one line that is not written as one.
#[derive(Debug, Default)]
pub(super) struct SingleLine {
    pub(super) scheme: Option<String>,
    pub(super) name: Option<String>,
    pub(super) set: Option<String>,
    pub(super) goal: Option<GoalName>,
    pub(super) params: Map<String, Value>,
}

/// A checked line of a case.
pub(super) struct SchemeLine {
    pub(super) scheme: String,
    pub(super) name: Option<String>,
    pub(super) set: Option<String>,
    pub(super) goal: Goal,
    pub(super) params: Map<String, Value>,
}

/// The lines of a case: those that it lists, or the single one.
pub(super) fn of(inline: SingleLine, lines: Option<Vec<LineText>>) -> Result<Vec<SchemeLine>, String> {
    let texts = match (inline, lines) {
        (SingleLine { scheme: Some(scheme), name, set, goal, params }, None) => {
            vec![LineText { scheme, name, set, goal, params }]
        }
        (SingleLine { scheme: None, name: None, set: None, goal: None, params }, Some(lines))
            if params.is_empty() && !lines.is_empty() =>
        {
            lines
        }
        _ => return Err("give either scheme (with name, set, goal, params), or a list of lines".to_owned()),
    };
    texts.into_iter().map(check).collect()
}

fn check(text: LineText) -> Result<SchemeLine, String> {
    if let Some(name) = &text.name
        && (name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control))
    {
        return Err(format!("name is {name:?}, expected 1 to {MAX_NAME} printable characters"));
    }
    if text.set.is_some() && text.goal.is_some() {
        return Err("give either set or goal".to_owned());
    }
    let goal = text.goal.map(|goal| goal.0).unwrap_or_default();
    Ok(SchemeLine { scheme: text.scheme, name: text.name, set: text.set, goal, params: text.params })
}
