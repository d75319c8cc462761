//! Draws a workflow: its steps and how they follow one another.

use crate::model::{Call, Graph, Join, Step, Work, Workflow};

/// The longest label, in characters.
const MAX_LABEL: usize = 80;

/// A step, ready to be drawn.
struct Node<'w> {
    id: String,
    step: &'w Step,
    /// The steps of a loop.
    inner: Vec<Node<'w>>,
}

/// An arrow from one step to another.
struct Edge {
    from: String,
    to: String,
    label: &'static str,
    /// True if the other step only reads a value.
    is_read: bool,
}

fn nodes<'w>(graph: &'w Graph, prefix: &str) -> Vec<Node<'w>> {
    let steps = graph.steps.iter().enumerate();
    steps
        .map(|(at, step)| {
            let id = format!("{prefix}{at}");
            let inner = match &step.work {
                Work::Steps(inner) => nodes(inner, &format!("{id}_")),
                _ => Vec::new(),
            };
            Node { id, step, inner }
        })
        .collect()
}

fn edges(nodes: &[Node<'_>]) -> Vec<Edge> {
    let id = |name: &str| {
        let node = nodes.iter().find(|node| node.step.name == name);
        node.map(|node| node.id.clone())
    };
    let mut all = Vec::new();
    for node in nodes {
        for need in &node.step.needs {
            let label = match need.branch {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            all.extend(id(&need.step).map(|from| Edge {
                from,
                to: node.id.clone(),
                label,
                is_read: false,
            }));
        }
        for read in &node.step.reads {
            all.extend(id(read).map(|from| Edge {
                from,
                to: node.id.clone(),
                label: "",
                is_read: true,
            }));
        }
        all.extend(edges(&node.inner));
    }
    all
}

/// The lines of a step's label.
fn label(step: &Step) -> Vec<String> {
    let mut lines = vec![step.name.clone()];
    lines.extend(match &step.work {
        Work::Call(Call {
            plan: Some(plan), ..
        }) => Some(format!("workflow {}", plan.name)),
        Work::Call(call) => match (&*call.agent, &*call.skill) {
            (agent, "") => Some(agent.to_owned()),
            ("", skill) => Some(format!("any agent with {skill}")),
            (agent, skill) => Some(format!("{agent}, {skill}")),
        },
        Work::Wait(ms) => Some(format!("wait {} s", *ms as f64 / 1_000.0)),
        Work::Event { event, .. } => Some(format!("wait for {event}")),
        Work::Approve { .. } => Some("a person approves".to_owned()),
        Work::Decide { condition, .. } => Some(condition.to_string()),
        Work::Join(_) => match step.join {
            Join::Merge => None,
            Join::All => Some("all".to_owned()),
            Join::AtLeast(n) => Some(format!("{n} of {}", step.needs.len())),
        },
        Work::Steps(_) => None,
    });
    lines.extend(step.when.as_ref().map(|when| format!("when {when}")));
    lines.extend(step.each.as_ref().map(|each| match each.parallel {
        1 => "for each item".to_owned(),
        n => format!("for each item, {n} at a time"),
    }));
    lines.extend(step.fallback.as_ref().map(|agent| format!("else {agent}")));
    lines.into_iter().map(|line| shortened(&line)).collect()
}

/// One line, without control characters, and not too long.
fn shortened(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match plain.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

/// The workflow for Mermaid.
pub(crate) fn mermaid(workflow: &Workflow) -> String {
    let nodes = nodes(&workflow.graph, "s");
    let title = serde_json::Value::from(shortened(&workflow.title()));
    let mut text = format!("---\ntitle: {title}\n---\nflowchart TD\n");
    for node in &nodes {
        mermaid_node(node, 1, &mut text);
    }
    for edge in edges(&nodes) {
        let arrow = match (edge.is_read, edge.label) {
            (true, _) => "-.->".to_owned(),
            (false, "") => "-->".to_owned(),
            (false, label) => format!("-->|{label}|"),
        };
        text += &format!("  {} {arrow} {}\n", edge.from, edge.to);
    }
    text
}

fn mermaid_node(node: &Node<'_>, depth: usize, text: &mut String) {
    let lines: Vec<String> = label(node.step)
        .iter()
        .map(|line| in_mermaid(line))
        .collect();
    let label = lines.join("<br/>");
    let indent = "  ".repeat(depth);
    if !node.inner.is_empty() {
        *text += &format!("{indent}subgraph {}[\"{label}\"]\n", node.id);
        for inner in &node.inner {
            mermaid_node(inner, depth + 1, text);
        }
        *text += &format!("{indent}end\n");
        return;
    }
    let (open, close) = match node.step.work {
        Work::Call(_) | Work::Steps(_) => ("[", "]"),
        Work::Wait(_) | Work::Event { .. } => ("([", "])"),
        Work::Approve { .. } => ("[/", "/]"),
        Work::Decide { .. } => ("{", "}"),
        Work::Join(_) => ("((", "))"),
    };
    *text += &format!("{indent}{}{open}\"{label}\"{close}\n", node.id);
}

/// Mermaid reads HTML and Markdown in labels, and `#…;` as a character.
fn in_mermaid(text: &str) -> String {
    let safe = |c: char| match c {
        ' ' | '-' | '_' | '.' | ',' => c.to_string(),
        c if c.is_alphanumeric() => c.to_string(),
        c => format!("#{};", u32::from(c)),
    };
    text.chars().map(safe).collect()
}

/// The workflow for Graphviz.
pub(crate) fn dot(workflow: &Workflow) -> String {
    let nodes = nodes(&workflow.graph, "s");
    let about = [workflow.title(), workflow.description.clone()];
    let about = about.iter().filter(|line| !line.is_empty());
    let about: Vec<String> = about.map(|line| in_dot(&shortened(line))).collect();
    let mut text = format!(
        "digraph workflow {{\n  label=\"{}\";\n  labelloc=t;\n  compound=true;\n  node [shape=box, style=rounded];\n",
        about.join("\\n")
    );
    for node in &nodes {
        dot_node(node, 1, &mut text);
    }
    for edge in edges(&nodes) {
        let style = match (edge.is_read, edge.label) {
            (true, _) => " [style=dashed]".to_owned(),
            (false, "") => String::new(),
            (false, label) => format!(" [label=\"{label}\"]"),
        };
        text += &format!("  {} -> {}{style};\n", edge.from, edge.to);
    }
    text + "}\n"
}

/// Graphviz reads `\` and `"` in labels.
fn in_dot(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"")
}

fn dot_node(node: &Node<'_>, depth: usize, text: &mut String) {
    let lines: Vec<String> = label(node.step).iter().map(|line| in_dot(line)).collect();
    let label = lines.join("\\n");
    let indent = "  ".repeat(depth);
    let shape = match node.step.work {
        Work::Call(_) | Work::Steps(_) => "",
        Work::Wait(_) | Work::Event { .. } => ", shape=ellipse",
        Work::Approve { .. } => ", shape=parallelogram",
        Work::Decide { .. } => ", shape=diamond",
        Work::Join(_) => ", shape=circle",
    };
    if node.inner.is_empty() {
        *text += &format!("{indent}{} [label=\"{label}\"{shape}];\n", node.id);
        return;
    }
    *text += &format!(
        "{indent}subgraph cluster_{} {{\n{indent}  label=\"{label}\";\n",
        node.id
    );
    *text += &format!("{indent}  {} [shape=point];\n", node.id);
    for inner in &node.inner {
        dot_node(inner, depth + 1, text);
    }
    *text += &format!("{indent}}}\n");
}
