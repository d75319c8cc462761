//! The numbered steps of instructions.

/// Words in a heading that steps stand under.
const HEADINGS: [&str; 4] = ["steps", "procedure", "process", "workflow"];

/// The steps in their order, each without its number and without marks of Markdown at the head of its lines.
///
/// They stand under a heading with the word steps, procedure, process or workflow: as headings of a lower level that begin with a number
/// (`### 1. Ask`, `### Step 1: Ask`), else as the items of a numbered list. The first such heading that has any counts.
pub(super) fn steps(instructions: &str) -> Vec<String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open = false;
    let mut fenced = false;
    for line in instructions.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        match (heading(line), sections.last_mut().filter(|_| open)) {
            (Some((level, title)), Some(section)) if level > section.level => {
                section.heading(title);
            }
            (Some((level, title)), _) => {
                open = is_called_steps(title);
                if open {
                    sections.push(Section::new(level));
                }
            }
            (None, Some(section)) => section.line(line),
            (None, None) => {}
        }
    }
    let mut found = sections.into_iter().map(Section::steps);
    found.find(|steps| !steps.is_empty()).unwrap_or_default()
}

/// Text under one heading.
struct Section {
    level: usize,
    by_heading: Vec<String>,
    /// True if the last heading began a step.
    inside: bool,
    listed: Vec<String>,
}

impl Section {
    fn new(level: usize) -> Self {
        Self {
            level,
            by_heading: Vec::new(),
            inside: false,
            listed: Vec::new(),
        }
    }

    fn heading(&mut self, title: &str) {
        let step = numbered(title);
        self.inside = step.is_some();
        self.by_heading.extend(step.map(|step| format!("{step}\n")));
    }

    fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        let of_heading = self.by_heading.last_mut().filter(|_| self.inside);
        if let Some(step) = of_heading {
            add(step, line);
        } else if let Some(item) = numbered(line).filter(|_| indent < 3) {
            self.listed.push(item.to_owned());
        } else if let Some(step) = self.listed.last_mut() {
            add(step, line);
        }
    }

    fn steps(self) -> Vec<String> {
        let steps = match self.by_heading.is_empty() {
            true => self.listed,
            false => self.by_heading,
        };
        steps.iter().map(|step| step.trim().to_owned()).collect()
    }
}

/// Adds a line to a step. What begins with a mark of a list is a line of its own, anything else goes on.
fn add(step: &mut String, line: &str) {
    let mark = |line: &str| line.starts_with(['-', '*', '+', '>']) && line[1..].starts_with(' ');
    let is_item = mark(line);
    let text = if is_item { line[1..].trim() } else { line };
    if (is_item || text.is_empty()) && !step.ends_with('\n') {
        step.push('\n');
    } else if !step.ends_with('\n') {
        step.push(' ');
    }
    step.push_str(text);
}

/// The level and the title, where the line is a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let title = line[level..].strip_prefix(' ')?;
    (1..=6)
        .contains(&level)
        .then(|| (level, title.trim().trim_end_matches('#').trim()))
}

fn is_called_steps(title: &str) -> bool {
    let title = title.to_lowercase();
    let mut words = title.split(|c: char| !c.is_alphanumeric());
    words.any(|word| HEADINGS.contains(&word))
}

/// Text behind a number at the head of a line: `1. …`, `1) …`, `1: …`, `Step 1: …`.
fn numbered(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('*');
    let rest = match line.get(..4) {
        Some(word) if word.eq_ignore_ascii_case("step") => line[4..].trim_start(),
        _ => line,
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest[digits..].strip_prefix(['.', ')', ':'])?;
    let rest = rest.trim_start_matches('*');
    let text = rest.trim();
    (digits > 0 && !text.is_empty() && rest.starts_with(' ')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: SOP-10.1
    #[test]
    fn steps_are_the_items_of_a_list_or_headings_with_a_number() {
        for (instructions, expected) in [
            (
                "# Editor\n\n## Steps\n\n1. Ask `a`\n   for notes.\n2) Ask `b`.\n   - It MUST be short.\n\n## Rules\n\n1. No step.",
                &["Ask `a` for notes.", "Ask `b`.\nIt MUST be short."][..],
            ),
            (
                "## The procedure\n### 1. Find\nAsk a.\n\n**Constraints:**\n- You MUST ask\n  1. nested\n### Notes\n1. none\n### Step 2: Write\n# End",
                &[
                    "Find\nAsk a.\n**Constraints:**\nYou MUST ask 1. nested",
                    "Write",
                ],
            ),
            (
                "## Steps\n```\n1. code\n```\nnothing\n## Workflow\n1. go",
                &["go"],
            ),
            ("## Rules\n1. No step.\n1. None.", &[]),
            ("1. First of no heading", &[]),
            ("## Steps\n1.\n1.5 is a number\nStepladders", &[]),
            ("", &[]),
        ] {
            assert_eq!(steps(instructions), expected, "{instructions:?}");
        }
    }
}
