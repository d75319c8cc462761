//! Metrics and labels that expressions of Prometheus name.

/// A metric in an expression, with the labels by which it is selected or grouped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
}

/// Words of the language that are no metrics.
const WORDS: &[&str] = &[
    "sum",
    "max",
    "min",
    "avg",
    "by",
    "rate",
    "increase",
    "and",
    "or",
    "unless",
    "time",
    "histogram_quantile",
];

/// The metrics of an expression. What it groups by counts as a label of each.
pub(super) fn metrics_in(expression: &str) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    let mut grouped = Vec::new();
    let mut rest = expression;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        // A number with its unit, or a variable, is no name.
        let before = rest[..at].chars().next_back();
        let is_name = !before.is_some_and(|c| c.is_ascii_digit() || c == '$' || c == '.');
        let word = &rest[at..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, after) = word.split_at(end.unwrap_or(word.len()));
        rest = after;
        if !is_name {
            continue;
        }
        if word == "by" {
            let (labels, after) = between(rest, '(', ')');
            grouped.extend(labels.split(',').map(|label| label.trim().to_owned()));
            rest = after;
        } else if !WORDS.contains(&word) {
            let mut labels = Vec::new();
            if rest.starts_with('{') {
                let (selector, after) = between(rest, '{', '}');
                rest = after;
                labels = selected(selector);
            }
            found.push(Named {
                name: word.to_owned(),
                labels,
            });
        }
    }
    for metric in &mut found {
        metric.labels.extend(grouped.iter().cloned());
    }
    found
}

fn between(text: &str, open: char, close: char) -> (&str, &str) {
    let (_, inner) = text.split_once(open).expect("it opens");
    inner.split_once(close).expect("it closes")
}

/// Labels of `a="x", b=~"y"`.
fn selected(selector: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut rest = selector;
    while let Some((label, after)) = rest.split_once(['=', '!']) {
        labels.push(label.trim_matches([',', ' ']).to_owned());
        let value = after.split_once('"').expect("a value").1;
        rest = value.split_once('"').expect("it ends").1;
    }
    labels
}

/// The expressions of rules in YAML, each on one line or folded.
pub(super) fn rules(yaml: &str) -> Vec<String> {
    let mut expressions = Vec::new();
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(expression) = line.trim().strip_prefix("expr: ") else {
            continue;
        };
        let mut whole = expression.trim_start_matches(">-").to_owned();
        let indent = |line: &str| line.len() - line.trim_start().len();
        while let Some(more) = lines.next_if(|next| indent(next) > indent(line)) {
            whole = format!("{whole} {}", more.trim());
        }
        expressions.push(whole);
    }
    expressions
}

#[test]
fn metrics_and_labels_are_found() {
    let expression = "histogram_quantile(0.99, sum by (le, code) (rate(a_bucket{instance=~\"$instance\",of!=\"b,c\"}[$__rate_interval]))) / a_limit > 1e3";
    let labels = |labels: &[&str]| labels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        metrics_in(expression),
        [
            Named {
                name: "a_bucket".into(),
                labels: labels(&["instance", "of", "le", "code"]),
            },
            Named {
                name: "a_limit".into(),
                labels: labels(&["le", "code"]),
            },
        ]
    );
    let yaml =
        "- alert: A\n  expr: >-\n    a > 1\n    and b\n  for: 1m\n- alert: B\n  expr: c == 0\n";
    assert_eq!(rules(yaml), [" a > 1 and b", "c == 0"]);
}
