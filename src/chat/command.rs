//! Commands of the chat, read from a line.

/// Command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input<'a> {
    /// An empty line.
    Nothing,
    /// Cortex is to hear this.
    Say(&'a str),
    /// A command of the chat.
    Command(Command<'a>),
    /// A command that there is not.
    Unknown(&'a str),
}

/// The commands of the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Agents,
    Tasks,
    Runs,
    /// A file, by its path, goes with what is said next; without one, says which do.
    Attach(&'a str),
    /// Leaves out the files that would go.
    Detach,
    /// Lists approvals that wait.
    Approvals,
    /// The answer to what waits for a yes, by its id, and why.
    Answer {
        approved: bool,
        id: &'a str,
        why: &'a str,
    },
    New,
    Help,
    Quit,
}

/// The commands as they are written; those behind which more follows end with a space.
const WRITTEN: [&str; 11] = [
    "/agents",
    "/approvals",
    "/approve ",
    "/attach ",
    "/detach",
    "/help",
    "/new",
    "/quit",
    "/refuse ",
    "/runs",
    "/tasks",
];

/// The commands that begin as the line does, as long as nothing follows.
pub(super) fn completions(line: &str) -> Vec<&'static str> {
    let fits = |command: &&'static str| line.starts_with('/') && command.starts_with(line);
    WRITTEN.into_iter().filter(fits).collect()
}

/// Text of `/help`.
pub(super) const HELP: &str = "\
/agents  the agents of the hub
/tasks   the tasks of this conversation
/runs    the latest runs
/attach PATH       a file that goes with what you say next: at most 8, 640 KiB together
/detach            leaves out what is attached
/approvals         what waits for a person's yes
/approve ID [WHY]  allows it
/refuse ID [WHY]   does not
/new     begins a new conversation
/help    this
/quit    leaves, as Ctrl-D does

While Cortex works: Enter lets it work in the background, Ctrl-C cancels. What you write meanwhile is kept.
A line that begins with // is said with one /.";

/// The command of a line.
pub(super) fn parse(line: &str) -> Input<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Input::Nothing;
    }
    let Some(rest) = line.strip_prefix('/') else {
        return Input::Say(line);
    };
    if rest.starts_with('/') {
        return Input::Say(rest);
    }
    let (name, rest) = word(rest);
    // A path, say.
    if name.contains('/') {
        return Input::Say(line);
    }
    match name {
        "agents" => Input::Command(Command::Agents),
        "tasks" => Input::Command(Command::Tasks),
        "runs" => Input::Command(Command::Runs),
        "attach" => Input::Command(Command::Attach(rest.trim())),
        "detach" => Input::Command(Command::Detach),
        "approvals" => Input::Command(Command::Approvals),
        "approve" | "refuse" => {
            let (id, why) = word(rest);
            Input::Command(Command::Answer {
                approved: name == "approve",
                id,
                why,
            })
        }
        "new" => Input::Command(Command::New),
        "help" | "?" => Input::Command(Command::Help),
        "quit" | "exit" | "q" => Input::Command(Command::Quit),
        name => Input::Unknown(name),
    }
}

/// The first word, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-12.3
    #[test]
    fn commands_are_completed_where_a_line_begins_with_one() {
        assert_eq!(completions("/ag"), ["/agents"]);
        assert_eq!(completions("/app"), ["/approvals", "/approve "]);
        assert_eq!(completions("/at"), ["/attach "]);
        assert_eq!(completions("/").len(), WRITTEN.len());
        for line in ["", "ag", "hello /ag", "//ag", "/nothing", "/approve x"] {
            assert_eq!(completions(line), [""; 0], "{line}");
        }
        for command in WRITTEN {
            assert!(matches!(parse(command), Input::Command(_)), "{command}");
        }
    }

    #[test]
    fn answers_name_what_they_answer() {
        let answer = |approved, id, why| Input::Command(Command::Answer { approved, id, why });
        for (line, input) in [
            ("/approve a1", answer(true, "a1", "")),
            (
                " /approve  a1  looks good ",
                answer(true, "a1", "looks good"),
            ),
            ("/refuse a1 too early", answer(false, "a1", "too early")),
            ("/refuse", answer(false, "", "")),
            ("/approvals", Input::Command(Command::Approvals)),
            ("/runs", Input::Command(Command::Runs)),
        ] {
            assert_eq!(parse(line), input, "{line:?}");
        }
    }

    #[test]
    fn lines() {
        let cases = [
            ("", Input::Nothing),
            ("  \t", Input::Nothing),
            (" hello there ", Input::Say("hello there")),
            ("/agents", Input::Command(Command::Agents)),
            ("/tasks all", Input::Command(Command::Tasks)),
            (
                "/attach  ~/a note.txt ",
                Input::Command(Command::Attach("~/a note.txt")),
            ),
            ("/attach", Input::Command(Command::Attach(""))),
            ("/detach", Input::Command(Command::Detach)),
            (" /new ", Input::Command(Command::New)),
            ("/?", Input::Command(Command::Help)),
            ("/exit", Input::Command(Command::Quit)),
            ("/fly away", Input::Unknown("fly")),
            ("/", Input::Unknown("")),
            ("//agents is a command", Input::Say("/agents is a command")),
            ("/etc/hosts is a file", Input::Say("/etc/hosts is a file")),
        ];
        for (line, input) in cases {
            assert_eq!(parse(line), input, "{line:?}");
        }
    }
}
