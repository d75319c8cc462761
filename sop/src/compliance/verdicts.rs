//! Verdicts of a model on rules that code cannot check, and how much of them is believed: a verdict counts only with a quotation that really
//! stands in the transcript.

use std::{collections::BTreeMap, time::Duration};

use agenthub_sdk::{
    internal::redacted,
    model::{DeltaSink, LanguageModel, Request},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Passage, Procedure, Transcript, Verdict,
    checks::CheckResult,
    prompt::{again, request},
};
use crate::Rule;

/// Rules of one question.
const AT_ONCE: usize = 25;

/// Questions about one run.
const QUESTIONS: usize = 8;

/// Questions that are out at the same time.
const TOGETHER: usize = 3;

/// The time for one answer.
const ANSWER: Duration = Duration::from_secs(180);

/// Letters and digits that a quotation has, unless it is all of a passage.
const SHORTEST: usize = 4;

/// Characters of a reason or a quotation that are kept.
const LONGEST: usize = 400;

/// One verdict for each of the rules, in their order.
pub(super) async fn judged(
    model: &dyn LanguageModel,
    procedure: &Procedure,
    transcript: &Transcript,
    rules: &[&Rule],
) -> Vec<CheckResult> {
    let (asked, rest) = rules.split_at(rules.len().min(AT_ONCE * QUESTIONS));
    let questions: Vec<_> = asked
        .chunks(AT_ONCE)
        .map(|rules| {
            ask(
                model,
                transcript,
                rules,
                request(procedure, transcript, rules),
            )
        })
        .collect();
    let answers = stream::iter(questions).buffered(TOGETHER);
    let mut found = answers.collect::<Vec<_>>().await.concat();
    found.extend(rest.iter().map(|_| {
        let most = AT_ONCE * QUESTIONS;
        CheckResult::not_checked(format!("a model is asked about {most} rules at most"))
    }));
    found
}

async fn ask(
    model: &dyn LanguageModel,
    transcript: &Transcript,
    rules: &[&Rule],
    mut request: Request,
) -> Vec<CheckResult> {
    let mut answer = Answer::default();
    for is_last in [false, true] {
        let asking = model.complete(request.clone(), DeltaSink::ignored());
        let said = match timeout(ANSWER, asking).await {
            Ok(Ok(completion)) => completion.text,
            Ok(Err(error)) => {
                let why = redacted(&error.to_string());
                return answer.decided(
                    rules,
                    transcript,
                    &format!("the model did not answer: {why}"),
                );
            }
            Err(_) => {
                let why = format!("the model did not answer within {} s", ANSWER.as_secs());
                return answer.decided(rules, transcript, &why);
            }
        };
        let wrong = answer.take(&said, rules);
        if wrong.is_empty() {
            break;
        }
        let wrong = wrong.join("; ");
        if is_last {
            let why = format!("the model's answer could not be used: {wrong}");
            return answer.decided(rules, transcript, &why);
        }
        request = again(request, &said, &wrong);
    }
    answer.decided(rules, transcript, "the model said nothing about it")
}

/// Answers of a model so far, by rule.
#[derive(Debug, Default)]
struct Answer(BTreeMap<String, Judgement>);

#[derive(Clone, Debug, Deserialize)]
struct Judgement {
    id: String,
    verdict: StatedVerdict,
    #[serde(default)]
    passage: Value,
    #[serde(default)]
    quotation: String,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StatedVerdict {
    Kept,
    Broken,
    NotApplicable,
    Unclear,
}

impl Answer {
    /// Takes an answer in, and says what is wrong with it, for the model.
    fn take(&mut self, said: &str, rules: &[&Rule]) -> Vec<String> {
        let said: Value = match serde_json::from_str(unfenced(said)) {
            Ok(said) => said,
            Err(error) => return vec![format!("it is not JSON: {error}")],
        };
        let Some(verdicts) = said["verdicts"].as_array() else {
            return vec!["it has no list `verdicts`".to_owned()];
        };
        let mut wrong = Vec::new();
        let mut taken: BTreeMap<String, Judgement> = BTreeMap::new();
        for verdict in verdicts.iter().take(2 * rules.len()) {
            match Judgement::deserialize(verdict) {
                Err(error) => wrong.push(format!("a verdict cannot be read: {error}")),
                Ok(one) if !rules.iter().any(|rule| rule.id == one.id) => {
                    wrong.push(format!("{:?} is no rule's id", short(&one.id)));
                }
                Ok(one) => {
                    if let Some(before) = taken.insert(one.id.clone(), one) {
                        wrong.push(format!("{} has more than one verdict", before.id));
                        taken.remove(&before.id);
                    }
                }
            }
        }
        let missing = rules.iter().filter(|rule| !taken.contains_key(&rule.id));
        let missing: Vec<&str> = missing.map(|rule| &*rule.id).collect();
        if !missing.is_empty() {
            wrong.push(format!("there is no verdict for {}", missing.join(", ")));
        }
        self.0.extend(taken);
        wrong
    }

    /// The finding on each rule; `nothing` is said of those without a verdict.
    fn decided(&self, rules: &[&Rule], transcript: &Transcript, nothing: &str) -> Vec<CheckResult> {
        let found = rules.iter().map(|rule| match self.0.get(&rule.id) {
            Some(judgement) => judgement.decided(transcript),
            None => CheckResult::not_checked(nothing),
        });
        found.collect()
    }
}

impl Judgement {
    fn decided(&self, transcript: &Transcript) -> CheckResult {
        let reason = short(&self.reason);
        let (verdict, word) = match self.verdict {
            StatedVerdict::Kept => (Verdict::Kept, "kept"),
            StatedVerdict::Broken => (Verdict::Broken, "broken"),
            StatedVerdict::NotApplicable => (Verdict::NotApplicable, "not applicable"),
            StatedVerdict::Unclear => {
                return CheckResult::not_checked(format!("the model could not tell: {reason}"));
            }
        };
        let named = self.passage.as_u64();
        // What was asked for, or not done, shows nothing that was done.
        let counts = |passage: &Passage| verdict != Verdict::Kept || passage.what.is_of_the_run();
        match quoted(&self.quotation, named, transcript, counts) {
            Some(passage) => CheckResult {
                quotation: Some(short(&self.quotation)),
                source: Some(passage.title.clone()),
                ..CheckResult::new(verdict, reason)
            },
            None => {
                let quotation = short(&self.quotation);
                let where_it_counts = match verdict {
                    Verdict::Kept => "what was said or done in the run",
                    _ => "what happened",
                };
                CheckResult::not_checked(format!(
                    "the model's verdict ({word}) does not count, as its quotation {quotation:?} does not stand in {where_it_counts}: {reason}"
                ))
            }
        }
    }
}

/// The passage that a quotation stands in: the one that is named, or any. White space makes no difference.
fn quoted<'a>(
    quotation: &str,
    named: Option<u64>,
    transcript: &'a Transcript,
    counts: impl Fn(&Passage) -> bool,
) -> Option<&'a Passage> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quotation = plain(quotation);
    let signs = quotation.chars().filter(|c| c.is_alphanumeric()).count();
    let is_in = |passage: &&Passage| {
        let text = plain(&passage.text);
        let is_all = !text.is_empty() && text == quotation;
        counts(passage) && (is_all || signs >= SHORTEST && text.contains(&quotation))
    };
    let named = named.and_then(|number| transcript.passage(u32::try_from(number).ok()?));
    named
        .filter(is_in)
        .or_else(|| transcript.passages.iter().find(is_in))
}

/// The JSON in a code block, for models that wrap it in one.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| {
        inner.strip_prefix("json").unwrap_or(inner).trim()
    })
}

/// The beginning of a text on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
