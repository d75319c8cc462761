//! Verdict on a bundle: the exit code, and the report in words.

use agenthub_proto::{agenthub::TaskExtent, extent::is_held_to_anything};
use agenthub_sdk::runs::{Shortfall, share};
use serde_json::Value;

use crate::output::wrapped;

/// The narrowest and the widest report, in characters.
const WIDTH: std::ops::RangeInclusive<usize> = 60..=120;

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The constraints are met, and all that was given was used.
    Met,
    /// A result that does not meet the constraints, or whose constraints nobody could judge.
    BestEffort,
    /// No result.
    Failed,
}

impl Verdict {
    /// Of what a run that completed gives: a bundle, or in chat mode a message.
    pub fn of(result: &Value) -> Self {
        match TaskExtent::of_result(result) {
            TaskExtent::Nothing => Self::Failed,
            TaskExtent::Part => Self::BestEffort,
            TaskExtent::Whole | TaskExtent::Unspecified => Self::Met,
        }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Met => 0,
            Self::BestEffort => 3,
            Self::Failed => 1,
        }
    }
}

/// Standing of the acceptance criteria of a bundle, and of the other rules.
#[derive(Debug, Default)]
struct Criteria<'a> {
    met: usize,
    not_met: Vec<&'a str>,
    not_checked: Vec<&'a str>,
    /// The rules that are not kept.
    broken_rules: Vec<&'a str>,
    /// The rules that nobody checked.
    open_rules: Vec<&'a str>,
    /// The parts of the payload that reached nobody.
    not_handed_on: Vec<&'a str>,
    /// The parts of the payload in whose place something else was put.
    replaced: Vec<&'a str>,
    /// Parts that agents say they left aside.
    left_aside: Vec<&'a str>,
}

impl<'a> Criteria<'a> {
    fn of(bundle: &'a Value) -> Self {
        let mut criteria = Self::default();
        for line in bundle["acceptance-report"].as_array().into_iter().flatten() {
            let text = line["criterion"].as_str().unwrap_or_default();
            match line["verdict"].as_str() {
                Some("pass") => criteria.met += 1,
                Some("fail") => criteria.not_met.push(text),
                _ => criteria.not_checked.push(text),
            }
        }
        let rules = |field: &str| -> Vec<&'a str> {
            let rules = bundle["quality"][field].as_array().into_iter();
            rules.flatten().filter_map(Value::as_str).collect()
        };
        criteria.broken_rules = rules("notKept");
        criteria.open_rules = rules("unchecked");
        criteria.not_handed_on = rules("notHandedOn");
        criteria.replaced = rules("replaced");
        criteria.left_aside = rules("leftAside");
        criteria
    }

    fn are_met(&self) -> bool {
        let open = [
            &self.not_met,
            &self.not_checked,
            &self.broken_rules,
            &self.open_rules,
            &self.not_handed_on,
            &self.replaced,
            &self.left_aside,
        ];
        open.into_iter().all(Vec::is_empty)
    }

    /// Criteria that are met, and all of them; `None` where there are no criteria.
    fn count(&self) -> Option<String> {
        let all = self.met + self.not_met.len() + self.not_checked.len();
        let are = if self.met == 1 { "is" } else { "are" };
        (all > 0).then(|| format!("{} of {all} criteria {are} met", self.met))
    }

    /// True if this explanation has no more to say than the verdict: it begins as that does.
    fn is_said_by(&self, explanation: &str) -> bool {
        let begins = [
            ("nobody checked ", &self.open_rules),
            ("nobody was handed ", &self.not_handed_on),
            ("replaced: ", &self.replaced),
        ];
        let is_begun = |(start, named): (&str, &Vec<&str>)| {
            !named.is_empty() && explanation.starts_with(start)
        };
        match self.count() {
            Some(count) => explanation.starts_with(&count),
            None => {
                let mut left_aside = self.left_aside.iter();
                begins.into_iter().any(is_begun)
                    || left_aside.any(|said| explanation.starts_with(said))
            }
        }
    }

    /// The count, which are not met, and what nobody checked.
    fn in_words(&self) -> Option<String> {
        let rules = match self.open_rules.len() {
            1 => "nobody checked 1 rule:".to_owned(),
            n => format!("nobody checked {n} rules:"),
        };
        let mut words: Vec<String> = self.count().into_iter().collect();
        for (label, texts) in [
            ("not met", &self.not_met),
            ("not kept:", &self.broken_rules),
            ("nobody checked", &self.not_checked),
            (&*rules, &self.open_rules),
            ("nobody was handed", &self.not_handed_on),
            ("replaced:", &self.replaced),
        ] {
            if !texts.is_empty() {
                let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
                words.push(format!("{label} {}", texts.join(", ")));
            }
        }
        words.extend(self.left_aside.iter().map(|said| (*said).to_owned()));
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// The verdict, and how good what was judged is.
pub(super) fn quality(bundle: &Value) -> String {
    let quality = &bundle["quality"];
    let number = |field: &str| quality[field].as_f64();
    let texts = |field: &str| -> Vec<&str> {
        let items = quality[field].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    };
    let criteria = Criteria::of(bundle);
    let untaken = texts("notTaken").into_iter();
    let untaken: Vec<String> = untaken.map(|key| format!("payload.{key}")).collect();
    let untaken = untaken.join(", ");
    let not_reviewed = quality["notReviewed"].as_str();
    let verdict = match (Verdict::of(bundle), criteria.in_words()) {
        (Verdict::Met, _) => {
            "all constraints are met; the objective's own words were not checked as criteria"
                .to_owned()
        }
        (Verdict::Failed, _) => "nothing was made".to_owned(),
        (Verdict::BestEffort, _) if quality["met"] == true && criteria.are_met() => {
            let met = match is_held_to_anything(bundle) {
                true => {
                    "all constraints are met; the objective's own words were not checked as criteria"
                }
                false => {
                    "no criteria were given, and the objective's own words were not checked as criteria; the review lets it pass"
                }
            };
            let untaken = match untaken.is_empty() {
                true => String::new(),
                false => format!(", but nobody took {untaken}"),
            };
            format!("{met}{untaken}: this is the best there is")
        }
        (_, Some(words)) if !criteria.are_met() => {
            let has_rules = !criteria.broken_rules.is_empty() || !criteria.open_rules.is_empty();
            let none = match has_rules || is_held_to_anything(bundle) {
                true => "",
                false => "no criteria were given; ",
            };
            let untaken = match untaken.is_empty() {
                true => String::new(),
                false => format!("; nobody took {untaken}"),
            };
            format!("{none}{words}{untaken}: this is the best there is")
        }
        // Nobody found that anything is not met.
        (_, words) if let Some(gap) = not_reviewed => {
            let words = words.map(|words| format!("{words} as far as anything was reviewed; "));
            format!(
                "{}{gap}: this is the best there is",
                words.unwrap_or_default()
            )
        }
        (_, Some(words)) => {
            format!("{words}, but the constraints are NOT met: this is the best there is")
        }
        (_, None) => "the constraints are NOT met: this is the best there is".to_owned(),
    };
    let later = texts("unreviewed");
    let later = match later.is_empty() {
        true => String::new(),
        false => format!(
            "; a later one was made ({}), and nobody reviewed it",
            later.join(", ")
        ),
    };
    let mut lines = vec![format!("verdict  {verdict}{later}")];
    let wanted = number("threshold").unwrap_or_default();
    let not_judged = texts("notJudged");
    let is_part = if not_judged.is_empty() {
        ""
    } else {
        " for what was judged"
    };
    lines.push(match number("score") {
        // A score is of something.
        _ if quality["made"] == false => "quality  no score, as nothing was made".to_owned(),
        Some(score) => {
            let score = share::score(score, wanted);
            let wanted = share::exact(wanted);
            format!("quality  {score}{is_part}, at least {wanted} is wanted")
        }
        None => format!(
            "quality  nobody gave a score, at least {} is wanted",
            share::exact(wanted)
        ),
    });
    let others = not_judged
        .into_iter()
        .filter(|name| !criteria.not_checked.contains(name) && !criteria.open_rules.contains(name));
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        lines.push(format!("         not judged: {}", others.join("; ")));
    }
    lines.extend(stand_ins(quality).map(|who| {
        format!(
            "         {who} without a language model: stand-ins measure, and understand nothing"
        )
    }));
    if !untaken.is_empty() && !verdict.contains(&untaken) {
        lines.push(format!("ignored  nobody took {untaken}"));
    }
    if let (Some(depth), Some(most)) = (number("depth"), number("executionDepth")) {
        lines.push(format!("rounds   {depth} of at most {most}"));
    }
    for (label, field) in [("summary", "summary"), ("because", "explanation")] {
        let text = quality[field].as_str().unwrap_or_default().trim();
        // An explanation that the verdict is.
        let is_gap = not_reviewed.is_some_and(|gap| text == gap && verdict.contains(gap));
        let is_said = label == "because" && (criteria.is_said_by(text) || is_gap);
        if !text.is_empty() && !is_said {
            lines.push(format!("{label:<9}{text}"));
        }
    }
    for (index, issue) in texts("issues").into_iter().enumerate() {
        let label = if index == 0 { "issues" } else { "" };
        lines.push(format!("{label:<9}{issue}"));
    }
    lines.join("\n")
}

/// The verdict on an answer that is not all that was asked for, and why it is not.
pub(super) fn lacking(answer: &Value) -> Option<String> {
    let shortfall = Shortfall::of([answer])?;
    let verdict = match shortfall.is_nothing() {
        true => "nothing of it was done",
        false => "the answer is not all that was asked for: this is the best there is",
    };
    let mut lines = vec![format!("verdict  {verdict}")];
    for (index, missing) in shortfall.missing().iter().enumerate() {
        let label = if index == 0 { "because" } else { "" };
        lines.push(format!("{label:<9}{}: {}", missing.name, missing.why));
    }
    Some(lines.join("\n"))
}

/// The stand-ins that made and judged the result in the place of a language model.
fn stand_ins(quality: &Value) -> Option<String> {
    let items = quality["standIns"].as_array().into_iter().flatten();
    let said: Vec<String> = items
        .filter_map(|item| {
            let did = match item["phase"].as_str()? {
                "generation" => "wrote",
                "qa" => "judged",
                "analysis" => "analysed",
                _ => "worked",
            };
            Some(format!("{} {did}", item["agent"].as_str()?))
        })
        .collect();
    match said.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// The report as a table; `None` where nothing was to be fulfilled.
pub(super) fn acceptance(report: &[Value], width: usize) -> Option<String> {
    if report.is_empty() {
        return None;
    }
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = report.iter().map(|line| {
        let verdict = match line["verdict"].as_str() {
            Some("pass") => "✓ met",
            Some("fail") => "✗ not met",
            _ => "· not checked",
        };
        [
            verdict.to_owned(),
            text(&line["criterion"]),
            text(&line["evidence"]),
        ]
    });
    let width = width.clamp(*WIDTH.start(), *WIDTH.end());
    Some(wrapped(
        ["ACCEPTANCE", "CRITERION", "EVIDENCE"],
        rows,
        width,
    ))
}
