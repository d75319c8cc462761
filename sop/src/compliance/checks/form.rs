//! Rules about the form of the answer: JSON, Markdown's lists, headings, tables and code blocks, and links.

use std::sync::LazyLock;

use agenthub_agents::qa;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use serde_json::Value;

use super::duty::{Duty, Subject, regex, the_answer};

/// Form that an answer has to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequiredForm {
    what: Requirement,
    is_negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    /// All of it is JSON.
    Json(Kind),
    /// All of it is a list.
    List { is_ordered: bool },
    /// A number of such elements.
    Has(Element, Amount),
    /// A heading; or the last one.
    Heading { text: String, is_last: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Object,
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Link,
    Heading,
    Numbered,
    Bulleted,
    Table,
    CodeBlock,
}

impl Element {
    fn named(words: &str) -> Option<Self> {
        let words = words.to_ascii_lowercase();
        Some(match words.strip_suffix('s').unwrap_or(&words) {
            "url" | "link" | "web link" | "hyperlink" | "source url" | "web addresse"
            | "web address" => Self::Link,
            "heading" | "header" => Self::Heading,
            "numbered list" | "ordered list" => Self::Numbered,
            "bulleted list" | "bullet list" | "unordered list" | "bullet point list" => {
                Self::Bulleted
            }
            "table" | "markdown table" => Self::Table,
            "code block" => Self::CodeBlock,
            _ => return None,
        })
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Link => "links",
            Self::Heading => "headings",
            Self::Numbered => "numbered lists",
            Self::Bulleted => "bulleted lists",
            Self::Table => "tables",
            Self::CodeBlock => "code blocks",
        }
    }
}

/// The form that a duty asks for.
pub(super) fn read(duty: &Duty) -> Option<RequiredForm> {
    static FORMS: LazyLock<Forms> = LazyLock::new(Forms::new);
    let what = duty.what.as_str();
    let of = |what: Requirement| {
        Some(RequiredForm {
            what,
            is_negated: duty.is_negated,
        })
    };
    let whole: &[Regex] = match duty.subject {
        Subject::Agent => &FORMS.answers,
        Subject::Answer => &FORMS.is,
    };
    if let Some(found) = whole.iter().find_map(|form| form.captures(what)) {
        return of(whole_of(&found["whole"])?);
    }
    if let Some(found) = FORMS.heading.captures(what) {
        let text = ["before", "after", "plain"]
            .into_iter()
            .find_map(|part| found.name(part))?
            .as_str();
        let text = text.trim_matches(['"', '“', '”', '`', '#', ' ']).to_owned();
        let is_last = found.name("last").is_some();
        return of(Requirement::Heading { text, is_last });
    }
    let found = FORMS.has.captures(what)?;
    let element = Element::named(&found["element"])?;
    let amount = match found.name("n").map(|n| n.as_str().to_ascii_lowercase()) {
        // "no links" is a prohibition by itself.
        None if duty.is_negated => Amount::AtLeast(1),
        None => return None,
        Some(n) => Amount::of(&n).filter(|amount| !duty.is_negated || amount.is_any())?,
    };
    of(Requirement::Has(element, amount))
}

/// Number that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    AtLeast(usize),
    /// A bare number: for some no fewer, for others exactly so many.
    Number(usize),
}

impl Amount {
    fn of(words: &str) -> Option<Self> {
        if matches!(words, "a" | "an" | "any") {
            return Some(Self::AtLeast(1));
        }
        let bounded = words.strip_prefix("at least ");
        let bounded = bounded.or_else(|| words.strip_suffix(" or more"));
        Some(match bounded {
            Some(number) => Self::AtLeast(number_of(number)?),
            None => Self::Number(number_of(words)?),
        })
    }

    /// True if a single one is enough.
    fn is_any(self) -> bool {
        matches!(self, Self::AtLeast(1) | Self::Number(1))
    }

    /// Tells whether so many are right, if everybody would say so.
    fn is_met_by(self, count: usize) -> Option<bool> {
        match self {
            Self::AtLeast(least) => Some(count >= least),
            Self::Number(number) if count > number => None,
            Self::Number(number) => Some(count == number),
        }
    }
}

fn whole_of(words: &str) -> Option<Requirement> {
    let words = words.to_ascii_lowercase();
    Some(
        match words.trim_start_matches("a ").trim_start_matches("an ") {
            "json object" | "valid json object" | "single json object" => {
                Requirement::Json(Kind::Object)
            }
            "json array" | "valid json array" | "json list" => Requirement::Json(Kind::Array),
            "numbered list" | "ordered list" => Requirement::List { is_ordered: true },
            "bulleted list" | "bullet list" | "unordered list" => {
                Requirement::List { is_ordered: false }
            }
            _ => Requirement::Json(Kind::Any),
        },
    )
}

fn number_of(word: &str) -> Option<usize> {
    const NUMBERS: [&str; 10] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let at = NUMBERS.iter().position(|name| *name == word);
    at.map_or_else(|| word.parse().ok(), |at| Some(at + 1))
}

struct Forms {
    is: [Regex; 1],
    answers: [Regex; 2],
    heading: Regex,
    has: Regex,
}

impl Forms {
    fn new() -> Self {
        let form = |pattern: String| regex(&format!("(?i)^{pattern}$"));
        let answer = the_answer();
        let json = "(?:(?:valid |pure |plain )?JSON(?: data)?|an? (?:valid |single )?JSON (?:object|array|list))";
        let list = "an? (?:numbered|ordered|bulleted|bullet|unordered) list";
        let inside = format!("(?: (?:in|to) {answer})?");
        let named = r#"(?:(?:called|named|titled|entitled|headed) )?"#;
        let quoted = r#"(?:"[^"“”]+"|“[^"“”]+”)"#;
        let plain = r"(?-i:[A-Z][\w-]*(?: [A-Z][\w-]*){0,3})";
        Self {
            is: [form(format!("(?:be|consist of) (?<whole>{json}|{list})"))],
            answers: [
                form(format!(
                    "(?:(?:answer|reply|respond) (?:in|with|as)|format {answer} as) (?<whole>{json}|{list})"
                )),
                form(format!("(?:return|output|produce|emit) (?<whole>{json})")),
            ],
            heading: form(format!(
                "(?:have|contain|include|add|use|(?<last>end with|finish with|close with))(?: {answer} with)? (?:a|an|the) (?:(?:final |last )?(?:section|heading|chapter) (?:{named}(?<after>{quoted})|(?:called|named|titled|entitled|headed) (?<plain>{plain}))|(?<before>{quoted}) (?:section|heading|chapter)){inside}"
            )),
            has: form(format!(
                "(?:have|contain|include|cite|link to|add|give|provide|use)(?: (?<n>a|an|any|(?:at least )?(?:one|two|three|four|five|six|seven|eight|nine|ten|\\d{{1,3}})(?: or more)?))? (?<element>[a-z]+(?: [a-z]+)?){inside}"
            )),
        }
    }
}

impl RequiredForm {
    /// Tells whether the answer has this form, if that can be told, and what was found.
    pub(super) fn decide(&self, answer: &str) -> (Option<bool>, String) {
        let (holds, evidence) = match &self.what {
            Requirement::Json(kind) => json(answer, *kind),
            Requirement::List { is_ordered } => Shape::of(answer).is_list(*is_ordered),
            Requirement::Has(element, amount) => {
                let shape = Shape::of(answer);
                let count = shape.count(*element, answer);
                let (holds, wanted) = match (self.is_negated, amount) {
                    (true, _) => (Some(count > 0), "none is allowed".to_owned()),
                    (false, Amount::AtLeast(least)) => {
                        (amount.is_met_by(count), format!("at least {least} wanted"))
                    }
                    (false, Amount::Number(number)) => {
                        (amount.is_met_by(count), format!("{number} wanted"))
                    }
                };
                let name = element.plural();
                let name = match count {
                    1 => name.trim_end_matches('s'),
                    _ => name,
                };
                let evidence = format!("{count} {name}, {wanted}");
                (holds, evidence)
            }
            Requirement::Heading { text, is_last } => Shape::of(answer).has_heading(text, *is_last),
        };
        (holds.map(|holds| holds != self.is_negated), evidence)
    }
}

fn json(answer: &str, kind: Kind) -> (Option<bool>, String) {
    let answer = answer.trim();
    match serde_json::from_str::<Value>(answer) {
        Ok(value) => {
            let (holds, is) = match (kind, &value) {
                (Kind::Any, _) => (true, "it is JSON"),
                (_, Value::Object(_)) => (kind == Kind::Object, "it is a JSON object"),
                (_, Value::Array(_)) => (kind == Kind::Array, "it is a JSON array"),
                _ => (false, "it is JSON, but neither object nor array"),
            };
            (Some(holds), is.to_owned())
        }
        // Whether a fence around it matters, the procedure has to say.
        Err(_) if answer.starts_with("```") => (None, "it is a code block".to_owned()),
        Err(error) => (Some(false), format!("it is not JSON: {error}")),
    }
}

/// Elements that Markdown sees in a text.
#[derive(Debug, Default)]
struct Shape {
    headings: Vec<String>,
    /// Outermost blocks: `Some` for lists, with whether they are numbered.
    blocks: Vec<Option<bool>>,
    numbered: usize,
    bulleted: usize,
    tables: usize,
    code_blocks: usize,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self::default();
        let mut depth = 0_usize;
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(tag) => {
                    let list = match tag {
                        Tag::List(first) => Some(first.is_some()),
                        _ => None,
                    };
                    if depth == 0 {
                        shape.blocks.push(list);
                    }
                    depth += 1;
                    match tag {
                        Tag::List(Some(_)) => shape.numbered += 1,
                        Tag::List(None) => shape.bulleted += 1,
                        Tag::Table(_) => shape.tables += 1,
                        Tag::CodeBlock(_) => shape.code_blocks += 1,
                        Tag::Heading { .. } => heading = Some(String::new()),
                        _ => {}
                    }
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    if let TagEnd::Heading(_) = end {
                        shape.headings.extend(heading.take());
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        shape
    }

    fn is_list(&self, is_ordered: bool) -> (Option<bool>, String) {
        let kind = match is_ordered {
            true => "numbered",
            false => "bulleted",
        };
        let wanted = self.blocks.iter().filter(|b| **b == Some(is_ordered));
        match wanted.count() {
            0 => (Some(false), format!("there is no {kind} list")),
            n if n == self.blocks.len() => (Some(true), format!("it is a {kind} list")),
            // Whether a line before the list matters, only a model can tell.
            _ => (None, format!("there is a {kind} list, and more than that")),
        }
    }

    fn has_heading(&self, text: &str, is_last: bool) -> (Option<bool>, String) {
        let wanted = text.trim().trim_end_matches(':').to_lowercase();
        let is_it =
            |heading: &String| heading.trim().trim_end_matches(':').to_lowercase() == wanted;
        let holds = match is_last {
            true => self.headings.last().is_some_and(is_it),
            false => self.headings.iter().any(is_it),
        };
        let quoted: Vec<String> = self.headings.iter().map(|h| format!("{h:?}")).collect();
        let evidence = match quoted.is_empty() {
            true => "there are no headings".to_owned(),
            false => format!("the headings are {}", quoted.join(", ")),
        };
        (Some(holds), evidence)
    }

    fn count(&self, element: Element, text: &str) -> usize {
        match element {
            Element::Link => links(text),
            Element::Heading => self.headings.len(),
            Element::Numbered => self.numbered,
            Element::Bulleted => self.bulleted,
            Element::Table => self.tables,
            Element::CodeBlock => self.code_blocks,
        }
    }
}

/// Number of a text's links, as the `qa` agent counts them.
fn links(text: &str) -> usize {
    let counted = qa::computed("at most 0 links", text);
    let number = counted.and_then(|found| found.evidence.split(' ').next()?.parse().ok());
    number.unwrap_or_default()
}
