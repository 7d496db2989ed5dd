//! The choices of a plan that an encoder needs, and the file that contains them.

use crate::PlanError;
use serde::{Deserialize, Serialize};
use sotto_core::Goal;
use sotto_db::ingest::KeyArrangement;

/// Name and version of a plan's JSON.
pub const FORMAT: &str = "sotto-plan/1";

/// Largest size of a plan in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Choices of a plan for encoding a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanChoice {
    /// Name of the scheme, with its version.
    pub scheme: String,
    /// Goal that parameters are chosen for.
    pub goal: String,
    /// Named parameter set, in place of a goal.
    pub set: Option<String>,
    /// Number of requests that one client makes per epoch.
    pub lookups: u64,
    /// Whether rows are verified one by one.
    pub verified: bool,
    /// Whether rows are masked.
    pub symmetric: bool,
    /// Number of rows, or keys, in a round of a batch code.
    pub batch: Option<u16>,
    /// Arrangement of keys in rows; `None` where rows are requested by number.
    pub keys: Option<KeyChoice>,
}

/// Arrangement of keys in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum KeyChoice {
    /// Each key is stored in one of several rows.
    Rows {
        /// Number of rows in which a key may be stored: 1 to 4.
        probes: u32,
        /// Keys in a row.
        slots: u32,
    },
    /// Each key's value is the sum of several rows.
    Sums,
}

impl From<KeyArrangement> for KeyChoice {
    fn from(arrangement: KeyArrangement) -> Self {
        match arrangement {
            KeyArrangement::Rows { probes, slots } => KeyChoice::Rows { probes, slots },
            KeyArrangement::Band { .. } => KeyChoice::Sums,
        }
    }
}

/// The fields that are read from a plan.
#[derive(Deserialize)]
struct PlanFile {
    format: String,
    chosen: Option<PlanChoice>,
}

impl PlanChoice {
    /// Reads the choices of a plan from its JSON. Total: any bytes give a choice or an error.
    ///
    /// # Errors
    /// [`PlanError::Damaged`].
    pub fn parse(plan: &[u8]) -> Result<Self, PlanError> {
        let damaged =
            |why: String| PlanError::Damaged(why.chars().filter(|c| !c.is_control()).take(200).collect());
        if plan.len() > MAX_BYTES {
            return Err(damaged(format!("the file has more than {MAX_BYTES} bytes")));
        }
        let file: PlanFile = serde_json::from_slice(plan).map_err(|why| damaged(why.to_string()))?;
        if file.format != FORMAT {
            return Err(damaged(format!("the format is {:?}, expected {FORMAT}", file.format)));
        }
        let chosen =
            file.chosen.ok_or_else(|| damaged("the plan chose no scheme, since none fitted".to_owned()))?;
        chosen.goal()?;
        let keys = match chosen.keys {
            Some(KeyChoice::Rows { probes, slots }) => {
                (1..=4).contains(&probes) && (1..=65_536).contains(&slots)
            }
            _ => true,
        };
        if !keys || chosen.batch.is_some_and(|batch| !(1..=4096).contains(&batch)) || chosen.lookups == 0 {
            return Err(damaged("a value of the chosen plan is out of range".to_owned()));
        }
        Ok(chosen)
    }

    /// Goal that parameters are chosen for.
    ///
    /// # Errors
    /// [`PlanError::Damaged`] if there is no such goal.
    pub fn goal(&self) -> Result<Goal, PlanError> {
        let found = Goal::ALL.into_iter().find(|goal| goal.name() == self.goal);
        found.ok_or_else(|| PlanError::Damaged("the plan has an unknown goal".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> PlanChoice {
        PlanChoice {
            scheme: "simplepir/1".into(),
            goal: "server-time".into(),
            set: None,
            lookups: 7,
            verified: true,
            symmetric: false,
            batch: None,
            keys: Some(KeyChoice::Rows { probes: 2, slots: 4 }),
        }
    }

    fn file(chosen: &serde_json::Value) -> Vec<u8> {
        serde_json::json!({ "format": FORMAT, "more": [1], "chosen": chosen }).to_string().into_bytes()
    }

    #[test]
    fn a_choice_is_read_back_from_its_plan() {
        let sums = PlanChoice { keys: Some(KeyChoice::Sums), batch: Some(20), ..choice() };
        for choice in [choice(), sums, PlanChoice { keys: None, ..choice() }] {
            let chosen = serde_json::to_value(&choice).unwrap();
            assert_eq!(PlanChoice::parse(&file(&chosen)).unwrap(), choice);
        }
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        let good = serde_json::to_value(choice()).unwrap();
        let with = |field: &str, value: serde_json::Value| {
            let mut chosen = good.clone();
            chosen[field] = value;
            file(&chosen)
        };
        for bytes in [
            Vec::new(),
            b"{".to_vec(),
            b"[]".to_vec(),
            b"{\"format\":\"sotto-plan/1\"}".to_vec(),
            b"{\"format\":\"sotto-plan/2\",\"chosen\":null}".to_vec(),
            file(&serde_json::Value::Null),
            with("goal", "speed".into()),
            with("lookups", 0.into()),
            with("batch", 5000.into()),
            with("keys", serde_json::json!({ "rows": { "probes": 9, "slots": 1 } })),
            with("unknown", 1.into()),
        ] {
            assert!(matches!(PlanChoice::parse(&bytes), Err(PlanError::Damaged(_))));
        }
        let whole = file(&good);
        for end in 0..whole.len() {
            assert!(PlanChoice::parse(&whole[..end]).is_err());
        }
    }
}
