//! The file of a brief: what a run is asked for.
//!
//! The file is YAML, of which JSON is a part. What a field may hold beyond its type is checked where the run starts; what is said there
//! about a field is told with its place in the file.

use std::{
    io::{self, Read},
    path::Path,
};

use agenthub_documents::Place;
use agenthub_proto::{
    cortex::{Constraints, RunBudget, StartRunRequest},
    json,
};
use serde::Deserialize;
use serde_json::{Map, Value};

mod place;

use agenthub_terminal::usage::WrongUsage;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A file as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name in errors.
    name: String,
    text: String,
}

/// Fields of the file; nothing is `None`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields {
    objective: Option<String>,
    mode: Option<String>,
    agent: Option<String>,
    payload: Option<Map<String, Value>>,
    constraints: Option<ConstraintFields>,
    budget: Option<BudgetFields>,
    thread_id: Option<String>,
    series: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConstraintFields {
    quality_threshold: Option<f64>,
    execution_depth: Option<u32>,
    acceptance_criteria: Option<Vec<Value>>,
    max_turns: Option<u32>,
    approvals: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BudgetFields {
    tokens: Option<u64>,
    calls: Option<u64>,
    time_ms: Option<u64>,
}

impl Source {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// Wrong usage: it cannot be read, is larger than 1 MiB or no UTF-8.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let (name, bytes) = match file == Path::new("-") {
            true => ("standard input".to_owned(), bounded(io::stdin().lock())),
            false => (
                file.display().to_string(),
                std::fs::File::open(file).and_then(bounded),
            ),
        };
        let bytes =
            bytes.map_err(|error| WrongUsage(format!("cannot read the brief {name}: {error}")))?;
        if bytes.len() as u64 > MAX_BYTES {
            let why = format!("{name} is larger than the {MAX_BYTES} bytes that a brief may have");
            return Err(WrongUsage(why).into());
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(_) => Err(WrongUsage(format!("{name} is no UTF-8")).into()),
        }
    }

    /// The request that the file asks for.
    ///
    /// # Errors
    ///
    /// The fault, with its place and what is allowed there.
    pub(crate) fn request(&self) -> anyhow::Result<StartRunRequest> {
        let fields: Fields = place::read(&self.text).map_err(|fault| self.at(&fault))?;
        Ok(fields.into())
    }

    /// The faults that whoever takes the brief finds, each with the place of its field in this file.
    pub(crate) fn placed(&self, field: Option<&str>, error: &str) -> String {
        match field.and_then(|field| place::find(&self.text, field)) {
            Some(Place { line, column, .. }) => format!("{}:{line}:{column}: {error}", self.name),
            None => error.to_owned(),
        }
    }

    fn at(&self, fault: &place::Fault) -> WrongUsage {
        let (name, why) = (&self.name, &fault.why);
        WrongUsage(match &fault.place {
            Some(Place { line, column, .. }) => format!("{name}:{line}:{column}: {why}"),
            None => format!("{name}: {why}"),
        })
    }
}

impl From<Fields> for StartRunRequest {
    fn from(fields: Fields) -> Self {
        Self {
            objective: fields.objective.unwrap_or_default(),
            mode: fields.mode.unwrap_or_default(),
            agent: fields.agent.unwrap_or_default(),
            payload: fields
                .payload
                .map(|payload| json::to_struct(&Value::Object(payload))),
            constraints: fields.constraints.map(Into::into),
            budget: fields.budget.map(Into::into),
            thread_id: fields.thread_id.unwrap_or_default(),
            series: fields.series.unwrap_or_default(),
            ..Self::default()
        }
    }
}

impl From<ConstraintFields> for Constraints {
    fn from(fields: ConstraintFields) -> Self {
        let criteria = fields.acceptance_criteria.unwrap_or_default();
        Self {
            quality_threshold: fields.quality_threshold,
            execution_depth: fields.execution_depth,
            acceptance_criteria: criteria.iter().map(json::to_value).collect(),
            max_turns: fields.max_turns,
            approvals: fields.approvals.unwrap_or_default(),
        }
    }
}

impl From<BudgetFields> for RunBudget {
    fn from(fields: BudgetFields) -> Self {
        Self {
            tokens: fields.tokens,
            calls: fields.calls,
            time_ms: fields.time_ms,
        }
    }
}

fn bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            name: "a.yaml".to_owned(),
            text: text.to_owned(),
        }
    }

    fn request(text: &str) -> StartRunRequest {
        source(text).request().expect("it is right")
    }

    fn error(text: &str) -> String {
        source(text).request().expect_err(text).to_string()
    }

    /// spec: ORC-2.3
    #[test]
    fn every_field_of_a_brief_is_read() {
        let request = request(
            "objective: Announce it\nmode: app\nagent: x\npayload:\n  language: no\n  past: [{clicks: null}, 007, 1.5]\n\
             constraints:\n  qualityThreshold: 0.8\n  executionDepth: 2\n  maxTurns: 9\n  approvals: [content.write]\n  acceptanceCriteria:\n    - says when\n\
             \x20   - {text: short, check: {kind: max_characters, value: 280}}\n\
             budget: {tokens: 1000, calls: 20, timeMs: 60000}\nthreadId: t1\nseries: s1\n",
        );
        insta::assert_snapshot!(serde_json::to_string_pretty(&json::of(&request)).expect("JSON"));
    }

    #[test]
    fn json_is_read_as_well() {
        let brief =
            request("{\n\t\"objective\": \"x\",\n\t\"constraints\": {\"executionDepth\": 2}\n}\n");
        assert_eq!(brief.objective, "x");
        let depth = brief.constraints.and_then(|c| c.execution_depth);
        assert_eq!(depth, Some(2));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_with_what_is_allowed() {
        let cases = [
            "objective: x\nconstraints:\n  qualityThreshold: high\n",
            "objective: x\nconstraints:\n  qualtyThreshold: 0.5\n",
            "objectve: x\n",
            "objective: [1]\n",
            "objective: x\nbudget: {tokens: -1}\n",
            "objective: x\nconstraints:\n  acceptanceCriteria: just one\n",
            "objective: x\npayload: 5\n",
            "objective: x\npayload: {clicks: .nan}\n",
            "objective: 'x\n",
            "objective: x\nobjective: y\n",
            "objective: x\n---\nobjective: y\n",
            "- x\n",
            "{objective: x, ",
        ];
        let errors: Vec<String> = cases.iter().map(|text| error(text)).collect();
        for error in &errors {
            assert!(!error.contains('\n'), "{error}");
        }
        insta::assert_snapshot!(errors.join("\n"));
    }

    /// What the service says of a field is told with its place.
    #[test]
    fn what_is_out_of_bounds_is_said_with_its_place() {
        let file = source(
            "objective: x\nconstraints:\n  qualityThreshold: 7\n  acceptanceCriteria:\n    - a\n    - ''\n",
        );
        for (field, place) in [
            (Some("constraints.qualityThreshold"), "a.yaml:3:21: "),
            (Some("constraints.acceptanceCriteria[1]"), "a.yaml:6:7: "),
            (Some("threadId"), ""),
            (None, ""),
        ] {
            let error = "`objective` is named in the words, and is not what is meant";
            assert_eq!(file.placed(field, error), format!("{place}{error}"));
        }
    }

    #[test]
    fn a_file_that_is_no_brief_is_refused_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("b.yaml");
        let read = |bytes: &[u8]| {
            std::fs::write(&file, bytes).expect("the folder is there");
            Source::read(&file).map(|source| source.text)
        };
        assert_eq!(read(b"objective: x").expect("it is small"), "objective: x");
        for (bytes, part) in [
            (vec![0xff_u8, 0xfe], "UTF-8"),
            (vec![b' '; (1 << 20) + 1], "larger"),
        ] {
            let error = read(&bytes).expect_err(part).to_string();
            assert!(error.contains(part) && error.contains("b.yaml"), "{error}");
        }
        let missing = Source::read(&folder.path().join("none.yaml")).expect_err("it is not there");
        assert!(format!("{missing:#}").contains("none.yaml"), "{missing:#}");
        assert!(missing.is::<WrongUsage>(), "{missing:#}");
    }
}
