//! Rules about what is called: whom, in which order, how often, and with what.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{
    super::Transcript,
    duty::{Duty, is_conditional, regex},
    handing_on::{Handing, Words},
    names::{Target, target, targets},
};

const VERB: &str = "(?:ask|call|consult|use|invoke|query|contact|involve|delegate(?: work| the work| tasks?| it)? to|hand (?:over to|work to|the work to|it to))";
const DOING: &str =
    "(?:asking|calling|consulting|using|invoking|querying|contacting|involving|delegating to)";

/// Condition on the calls of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// All of them are called.
    All(Vec<Target>),
    /// One of them is called.
    Any(Vec<Target>),
    /// None of them is called.
    None(Vec<Target>),
    /// No agent is called.
    NoAgents,
    /// No tool is called.
    NoTools,
    /// A call for a purpose, which code does not understand.
    For(Target),
    First(Target),
    /// The first is called before the second.
    Before(Target, Target),
    /// The first is called after the second.
    After(Target, Target),
    NotBefore(Target, Target),
    Times(Target, u64, u64),
    /// Content that goes with the calls of this target, or of all agents.
    With(Handing),
}

/// The order that a duty of an agent is.
pub(super) fn read(duty: &Duty, transcript: &Transcript) -> Option<Order> {
    static FORMS: LazyLock<Forms> = LazyLock::new(Forms::new);
    let forms = &*FORMS;
    let what = duty.what.as_str();
    let find = |name: &Captures<'_>, part: &str| target(&name[part], transcript);
    if let Some(found) = forms.with.captures(what) {
        return with(duty, &found, transcript);
    }
    if duty.is_negated {
        if let Some(found) = forms.nothing.captures(what) {
            let kind = found["kind"].to_ascii_lowercase();
            return Some(match kind.as_str() {
                "agent" => Order::NoAgents,
                _ => Order::NoTools,
            });
        }
        if let Some(found) = forms.times.captures(what) {
            let times = times(&found["n"])?;
            return match found.name("bound")?.as_str().to_ascii_lowercase().as_str() {
                "more than" => Some(Order::Times(find(&found, "x")?, 0, times)),
                _ => None,
            };
        }
        if let Some(found) = forms.before.captures(what) {
            return Some(Order::NotBefore(find(&found, "x")?, find(&found, "y")?));
        }
        let called = forms.called.captures(what)?;
        let (targets, is_any) = targets(&called["x"], transcript)?;
        // Whether "not X and Y" forbids each or both together, only a model can tell.
        return (is_any || targets.len() == 1).then_some(Order::None(targets));
    }
    for first in [&forms.first, &forms.at_first] {
        if let Some(found) = first.captures(what) {
            return Some(Order::First(find(&found, "x")?));
        }
    }
    if let Some(found) = forms.times.captures(what) {
        let n = times(&found["n"])?;
        let target = find(&found, "x")?;
        let bound = found
            .name("bound")
            .map_or("exactly", |bound| bound.as_str());
        return Some(match bound.to_ascii_lowercase().as_str() {
            "exactly" => Order::Times(target, n, n),
            "at least" => Order::Times(target, n, u64::MAX),
            "more than" => Order::Times(target, n + 1, u64::MAX),
            _ => Order::Times(target, 0, n),
        });
    }
    if let Some(found) = forms.before_answering.captures(what) {
        return Some(Order::All(vec![find(&found, "x")?]));
    }
    if let Some(found) = forms.before.captures(what) {
        return Some(Order::Before(find(&found, "x")?, find(&found, "y")?));
    }
    if let Some(found) = forms.after.captures(what) {
        return Some(Order::After(find(&found, "x")?, find(&found, "y")?));
    }
    let called = forms.called.captures(what)?;
    if let Some((targets, is_any)) = targets(&called["x"], transcript) {
        return Some(match is_any {
            true => Order::Any(targets),
            false => Order::All(targets),
        });
    }
    let found = forms.purpose.captures(what)?;
    (!is_conditional(what)).then_some(Order::For(find(&found, "x")?))
}

struct Forms {
    with: Regex,
    nothing: Regex,
    times: Regex,
    first: Regex,
    at_first: Regex,
    before_answering: Regex,
    before: Regex,
    after: Regex,
    called: Regex,
    purpose: Regex,
}

impl Forms {
    fn new() -> Self {
        let form = |pattern: String| regex(&format!("(?i)^{pattern}$"));
        let quoted = r#"(?:"[^"“”]+"|“[^"“”]+”)"#;
        let number =
            r"(?:once|twice|(?:\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten) times?)";
        Self {
            with: form(format!(
                "(?:include|mention|repeat|quote|put|pass|give|hand|send)(?: on)? (?<what>{quoted}|[^\"“”]+?)(?: on)? (?:(?<in>in) (?:the|each|every|any) (?:task|request)s?(?: (?:to|for|of) (?<x>.+))?|to (?<to>.+))"
            )),
            nothing: form(format!(
                "{VERB} (?:any |other |any other )(?<kind>agent|tool)s?"
            )),
            times: form(format!(
                "{VERB} (?<x>.+?)(?: (?<bound>exactly|at least|at most|no more than|not more than|up to|more than))? (?<n>{number})"
            )),
            first: form(format!("{VERB} (?<x>.+?) first")),
            at_first: form(format!(
                "(?:first {VERB}|(?:start|begin) by {DOING}) (?<x>.+)"
            )),
            before_answering: form(format!(
                "{VERB} (?<x>.+?) before (?:you (?:answer|reply|respond|finish)|(?:it )?(?:answering|replying|responding|finishing)|(?:the|your)(?: final)? (?:answer|reply|response))"
            )),
            before: form(format!(
                "{VERB} (?<x>.+?) before (?:{DOING} |you {VERB} )?(?<y>.+)"
            )),
            after: form(format!(
                "{VERB} (?<x>.+?) after (?:{DOING} |you {VERB} )?(?<y>.+)"
            )),
            called: form(format!("{VERB} (?<x>.+)")),
            purpose: form(format!(
                "{VERB} (?<x>.+?),? (?:for|to|about|with|on|in order to|so that) .+"
            )),
        }
    }
}

fn with(duty: &Duty, found: &Captures<'_>, transcript: &Transcript) -> Option<Order> {
    static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            "(?i)^(?:the )?(?:(?:user['’]s|original|whole|full) )*(?:request|question|words) (?:verbatim|word for word|unchanged)$",
        )
    });
    let to = found.name("x").or(found.name("to"));
    let to = match to {
        Some(to) => Some(target(to.as_str(), transcript)?),
        None => None,
    };
    let what = &found["what"];
    let words = if what.starts_with(['"', '“']) {
        Words::Quoted(what.trim_matches(['"', '“', '”']).to_owned())
    } else if REQUEST.is_match(what) {
        Words::Request
    } else {
        let name = what.trim_matches('`');
        let name = ["the ", "its ", "your ", "a ", "an "]
            .iter()
            .find_map(|article| name.strip_prefix(article))
            .unwrap_or(name);
        let tool = transcript.tools.get(&to.as_ref()?.tool)?;
        let input = tool
            .inputs
            .iter()
            .find(|input| *input == name.trim_matches('`'))?;
        Words::Input(input.clone())
    };
    Some(Order::With(Handing {
        to,
        words,
        in_task: found.name("in").is_some(),
        is_wanted: !duty.is_negated,
    }))
}

/// Number of times.
fn times(words: &str) -> Option<u64> {
    const NUMBERS: [&str; 10] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let words = words.to_ascii_lowercase();
    match words.as_str() {
        "once" => Some(1),
        "twice" => Some(2),
        _ => {
            let number = words.split(' ').next()?;
            let at = NUMBERS.iter().position(|name| *name == number);
            at.map_or_else(|| number.parse().ok(), |at| u64::try_from(at + 1).ok())
        }
    }
}
