//! What does a line mean?

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input<'a> {
    /// Nothing was written.
    Nothing,
    /// Cortex is to hear this.
    Say(&'a str),
    /// A command of the chat.
    Command(Command),
    /// A command that there is not.
    Unknown(&'a str),
}

/// The commands of the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Agents,
    Tasks,
    New,
    Help,
    Quit,
}

/// What `/help` says.
pub(super) const HELP: &str = "\
/agents  the agents of the hub
/tasks   the tasks of this conversation
/new     begins a new conversation
/help    this
/quit    leaves, as Ctrl-D does

While Cortex works: Enter lets it work in the background, Ctrl-C cancels. What you write meanwhile is kept.
A line that begins with // is said with one /.";

/// What the line means.
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
    let name = rest.split_whitespace().next().unwrap_or_default();
    // A path, say.
    if name.contains('/') {
        return Input::Say(line);
    }
    match name {
        "agents" => Input::Command(Command::Agents),
        "tasks" => Input::Command(Command::Tasks),
        "new" => Input::Command(Command::New),
        "help" | "?" => Input::Command(Command::Help),
        "quit" | "exit" | "q" => Input::Command(Command::Quit),
        name => Input::Unknown(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let cases = [
            ("", Input::Nothing),
            ("  \t", Input::Nothing),
            (" hello there ", Input::Say("hello there")),
            ("/agents", Input::Command(Command::Agents)),
            ("/tasks all", Input::Command(Command::Tasks)),
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
