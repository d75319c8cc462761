//! One check of a draft: what was looked at, what came out, and why.

use serde_json::{Map, Value, json};

use super::fix::Fix;

/// The reason why a check without a measurement has no verdict where there is no model.
pub(super) const NEEDS_A_MODEL: &str = "no program can measure this, and no model judged it";

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail,
    /// Not judged: shown, and counted neither for nor against the draft.
    NotChecked,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotChecked => "not_checked",
        }
    }
}

/// Issue of a draft, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Issue {
    /// A stable word for what is wrong.
    pub(super) kind: &'static str,
    /// The fault and its place. Texts of others stand in it as JSON strings.
    pub(super) wrong: String,
    /// The fix that a program can make.
    pub(super) fix: Option<Fix>,
    /// The advice, where there is no such fix.
    pub(super) advice: String,
}

impl Issue {
    pub(super) fn new(kind: &'static str, wrong: impl Into<String>, fix: Fix) -> Self {
        Self {
            kind,
            wrong: wrong.into(),
            fix: Some(fix),
            advice: String::new(),
        }
    }

    pub(super) fn advice(
        kind: &'static str,
        wrong: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            wrong: wrong.into(),
            fix: None,
            advice: advice.into(),
        }
    }

    /// The issue in one sentence, as [`Fix::read`] takes it.
    pub(super) fn sentence(&self) -> String {
        let Self { kind, wrong, .. } = self;
        match &self.fix {
            Some(fix) => format!("{kind}: {wrong}; {fix}."),
            None => format!("{kind}: {wrong}; {}.", self.advice.trim_end_matches('.')),
        }
    }
}

/// Question to a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    /// The kind of issue that a draft has which fails.
    pub(super) kind: &'static str,
    /// The question. It may hold words from the payload, so it travels as data.
    pub(super) text: String,
}

/// A check and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Check {
    /// Unique in a review.
    pub(super) id: String,
    /// Its name, for people.
    pub(super) name: String,
    pub(super) verdict: Verdict,
    /// From 0 to 1; where there is none, 1 for a pass and 0 for a fail.
    pub(super) score: Option<f64>,
    /// Numbers and quotations from the draft that the verdict rests on, or why there is no verdict.
    pub(super) evidence: String,
    /// Its weight, above 0.
    pub(super) weight: f64,
    /// A draft that fails this does not pass, whatever its score.
    pub(super) hard: bool,
    /// The request asks for it. Where nobody checks it, nobody knows whether the request is met.
    pub(super) is_rule: bool,
    /// The acceptance criterion that it decides, word for word.
    pub(super) criterion: Option<String>,
    pub(super) issue: Option<Issue>,
    /// Question to a model where there is no verdict.
    pub(super) question: Option<Question>,
    /// True if the verdict is a model's.
    pub(super) is_judged: bool,
}

impl Check {
    /// A check that nobody has made yet.
    pub(super) fn new(id: impl Into<String>, name: impl Into<String>, weight: f64) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            verdict: Verdict::NotChecked,
            score: None,
            evidence: NEEDS_A_MODEL.to_owned(),
            weight,
            hard: false,
            is_rule: false,
            criterion: None,
            issue: None,
            question: None,
            is_judged: false,
        }
    }

    pub(super) fn hard(mut self) -> Self {
        self.hard = true;
        self
    }

    pub(super) fn rule(mut self) -> Self {
        self.is_rule = true;
        self
    }

    pub(super) fn pass(mut self, evidence: impl Into<String>) -> Self {
        self.verdict = Verdict::Pass;
        self.evidence = evidence.into();
        self
    }

    pub(super) fn fail(mut self, evidence: impl Into<String>, issue: Issue) -> Self {
        self.verdict = Verdict::Fail;
        self.evidence = evidence.into();
        self.issue = Some(issue);
        self
    }

    pub(super) fn not_checked(mut self, why: impl Into<String>) -> Self {
        self.verdict = Verdict::NotChecked;
        self.evidence = why.into();
        self
    }

    pub(super) fn scored(mut self, score: f64) -> Self {
        self.score = Some(score.clamp(0.0, 1.0));
        self
    }

    /// Leaves the verdict to a model. An issue that it finds is of this kind.
    pub(super) fn ask(mut self, kind: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        self.question = Some(Question { kind, text });
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |key: &str, value: Value| json.insert(key.to_owned(), value);
        put("id", json!(self.id));
        put("name", json!(self.name));
        put("verdict", json!(self.verdict.as_str()));
        if let Some(score) = self.score {
            put("score", json!(rounded(score)));
        }
        put("evidence", json!(self.evidence));
        put("weight", json!(rounded(self.weight)));
        put("hard", json!(self.hard));
        put("rule", json!(self.is_rule));
        put("by", json!(if self.is_judged { "model" } else { "code" }));
        if let Some(criterion) = &self.criterion {
            put("criterion", json!(criterion));
        }
        if let Some(issue) = &self.issue {
            put("kind", json!(issue.kind));
            put("issue", json!(issue.sentence()));
            if let Some(fix) = &issue.fix {
                put("fix", fix.data());
            }
        }
        Value::Object(json)
    }
}

/// To three digits, so that equal reviews are equal to the last character.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
