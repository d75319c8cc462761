//! Judgements of a model on a draft, and how much of them is believed: a verdict counts only with a quotation that really is in the draft.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    check::{Check, Issue, Verdict},
    knobs::{Knob, Reading},
};
use crate::text::{
    count::Range,
    folded::{Folded, excerpt, line},
    parsed::Text,
};

/// Characters of a reason or an advice that are kept.
const LONGEST_REASON: usize = 400;

/// The JSON Schema of what a model is asked for.
pub(super) fn schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "number", "description": description });
    let object = |properties: Value| {
        let fields = properties.as_object().into_iter().flatten();
        let required: Vec<_> = fields.map(|(name, _)| name.clone()).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let quote = text("Characters of the draft, word for word, that the judgement rests on");
    let verdict = object(json!({
        "id": text("The question's id"),
        "verdict": { "type": "string", "enum": ["pass", "fail", "not_checked"] },
        "score": number("From 0 (entirely wrong) to 1 (entirely right)"),
        "quote": quote,
        "reason": text("One sentence: why"),
        "advice": text("One sentence that tells the writer what to change; empty for a pass"),
    }));
    let knob = object(json!({
        "name": text("The knob's name"),
        "value": number("The setting that the draft has, on the knob's own scale"),
        "quote": quote,
        "reason": text("One sentence: why"),
    }));
    object(json!({
        "verdicts": { "type": "array", "items": verdict },
        "knobs": { "type": "array", "items": knob },
    }))
}

/// A knob, as a model is asked for the draft's setting of it. What is wanted is not said.
pub(super) fn knob(knob: &Knob) -> Value {
    let told = |field: &str| knob.definition.get(field).cloned();
    json!({
        "name": knob.name,
        "description": told("description"),
        "min": told("min").unwrap_or(json!(0)),
        "max": told("max").unwrap_or(json!(1)),
    })
}

/// The answer to these questions of who has no opinion.
pub(super) fn no_opinion(questions: &Value) -> Value {
    let asked = questions["questions"].as_array().into_iter().flatten();
    let verdicts = asked.map(|question| {
        json!({ "id": question["id"], "verdict": "not_checked", "score": 0, "quote": "", "reason": "", "advice": "" })
    });
    json!({ "verdicts": verdicts.collect::<Vec<_>>(), "knobs": [] })
}

/// Answer of a model.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    verdicts: Vec<Judgement>,
    knobs: Vec<Estimate>,
}

#[derive(Debug, Deserialize)]
struct Judgement {
    id: String,
    verdict: StatedVerdict,
    score: f64,
    quote: String,
    reason: String,
    advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StatedVerdict {
    Pass,
    Fail,
    NotChecked,
}

#[derive(Debug, Deserialize)]
struct Estimate {
    name: String,
    value: f64,
    quote: String,
    reason: String,
}

impl Answer {
    /// # Errors
    ///
    /// The reason why the answer cannot be used.
    pub(super) fn read(answer: Value) -> Result<Self, String> {
        serde_json::from_value(answer)
            .map_err(|error| format!("the answer cannot be read: {error}"))
    }

    /// Takes the verdicts into the checks that are open. The first verdict on a question counts.
    ///
    /// # Errors
    ///
    /// None of the questions is answered.
    pub(super) fn decide<'a>(
        &self,
        open: impl Iterator<Item = &'a mut Check>,
        text: &Text,
    ) -> Result<(), String> {
        let (mut asked, mut answered) = (0, 0);
        for check in open {
            asked += 1;
            match self
                .verdicts
                .iter()
                .find(|judgement| judgement.id == check.id)
            {
                Some(judgement) => {
                    answered += 1;
                    judgement.decide(check, text);
                }
                None => *check = check.clone().not_checked("the model said nothing about it"),
            }
        }
        match asked > 0 && answered == 0 {
            true => Err("no verdict has the id of a question".to_owned()),
            false => Ok(()),
        }
    }

    /// The draft's setting of a knob by the model, if there is evidence.
    pub(super) fn reading(&self, knob: &Knob, text: &Text) -> Option<(String, Reading)> {
        let estimate = self
            .knobs
            .iter()
            .find(|estimate| estimate.name == knob.name)?;
        let place = quoted(&estimate.quote, text)?;
        let setting = knob.setting(estimate.value)?;
        let how = format!(
            "a model's estimate, {place}: {}",
            one_line(&estimate.reason)
        );
        let setting = Range::exactly(setting);
        Some((knob.name.clone(), Reading { setting, how }))
    }
}

impl Judgement {
    fn decide(&self, check: &mut Check, text: &Text) {
        let Some(question) = check.question.clone() else {
            return;
        };
        let reason = one_line(&self.reason);
        let open = check.clone();
        let place = quoted(&self.quote, text);
        let decided = match (self.verdict, place) {
            (StatedVerdict::NotChecked, _) if reason.is_empty() => open,
            (StatedVerdict::NotChecked, _) => {
                open.not_checked(format!("the model could not tell: {reason}"))
            }
            (_, None) => {
                let quote = json!(excerpt(&self.quote));
                open.not_checked(format!(
                    "the model's verdict does not count: its quotation {quote} is not in the draft ({reason})"
                ))
            }
            // A score that contradicts its verdict moves to the verdict's half.
            (StatedVerdict::Pass, Some(place)) => {
                let score = self.score.max(0.5);
                open.pass(format!("{place}: {reason}")).scored(score)
            }
            (StatedVerdict::Fail, Some(place)) => {
                let advice = match one_line(&self.advice) {
                    advice if advice.is_empty() => "change it".to_owned(),
                    advice => advice,
                };
                let wrong = format!("{reason} ({place})");
                let issue = Issue::advice(question.kind, wrong, advice);
                open.fail(format!("{place}: {reason}"), issue)
                    .scored(self.score.min(0.5))
            }
        };
        let is_judged = decided.verdict != Verdict::NotChecked;
        *check = Check {
            is_judged,
            ..decided
        };
    }
}

/// Place of a quotation in the draft; `None` if it does not, or says nothing.
fn quoted(quote: &str, text: &Text) -> Option<String> {
    let quote = Folded::new(quote);
    let place = text.folded.place(&quote)?;
    let number = line(&text.raw, place.start);
    Some(format!(
        "line {number}: {}",
        json!(excerpt(&text.raw[place]))
    ))
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(LONGEST_REASON) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fix::Fix, *};

    const DRAFT: &str = "Come to the fair.\nIt cures everything.";

    fn verdict(verdict: &str, score: f64, quote: &str) -> Value {
        json!({ "id": "risk", "verdict": verdict, "score": score, "quote": quote, "reason": "It is\n so.", "advice": "Leave it out." })
    }

    fn judged(verdicts: Value) -> Result<Check, String> {
        let mut check = Check::new("risk", "Risk", 1.0).ask("brand_risk", "Is it safe?");
        let answer = Answer::read(json!({ "verdicts": verdicts, "knobs": [] }))?;
        answer.decide(std::iter::once(&mut check), &Text::new(DRAFT))?;
        Ok(check)
    }

    /// spec: ORC-2.2, ORC-9
    #[test]
    fn a_verdict_with_a_true_quotation_counts() {
        let check =
            judged(json!([verdict("fail", 0.2, "it CURES  everything")])).expect("it can be used");
        assert_eq!(
            (check.verdict, check.score, check.is_judged),
            (Verdict::Fail, Some(0.2), true)
        );
        assert_eq!(check.evidence, "line 2: \"It cures everything\": It is so");
        let issue = check.issue.expect("an issue").sentence();
        assert_eq!(
            issue,
            "brand_risk: It is so (line 2: \"It cures everything\"); Leave it out."
        );
        assert_eq!(Fix::read(&issue), None);
    }

    /// spec: ORC-2.2
    #[test]
    fn a_verdict_with_a_made_up_quotation_does_not() {
        for quote in ["It heals everything", "", " \u{200b}"] {
            let check = judged(json!([verdict("pass", 1.0, quote)])).expect("it can be used");
            assert_eq!(
                (check.verdict, check.score, check.is_judged),
                (Verdict::NotChecked, None, false)
            );
            assert!(
                check.evidence.contains("is not in the draft"),
                "{}",
                check.evidence
            );
        }
    }

    #[test]
    fn a_score_cannot_contradict_its_verdict() {
        let score = |told: &str, score: f64| {
            judged(json!([verdict(told, score, "fair")]))
                .expect("it can be used")
                .score
        };
        assert_eq!(score("pass", -3.0), Some(0.5));
        assert_eq!(score("pass", 7.0), Some(1.0));
        assert_eq!(score("fail", 0.9), Some(0.5));
        assert_eq!(score("not_checked", 0.9), None);
    }

    #[test]
    fn an_answer_to_other_questions_is_none() {
        assert!(judged(json!([])).is_err());
        let mut other = verdict("pass", 1.0, "fair");
        other["id"] = json!("draft");
        assert!(judged(json!([other])).is_err());
        assert!(judged(json!("pass")).is_err());
    }
}
