//! The line that the user writes, and its history.

use std::{
    fs, io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    thread,
};

use agenthub_terminal::output;
use anyhow::Context;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{
    CompletionType, Config, Context as Place, ExternalPrinter, Helper,
    completion::Completer,
    config::Configurer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::{FileHistory, History},
    validate::Validator,
};
use tokio::sync::mpsc;

use super::command::completions;

/// The lines that are remembered.
const HISTORY: usize = 1_000;

/// Sequence that undoes what the editor tells the terminal when a line is begun: pasted text is not marked any more.
const UNMARKED_PASTE: &str = "\u{1b}[?2004l";

/// Folder of the chat's files, if it keeps any.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Option<PathBuf>);

impl Folder {
    /// The data folder; `None` keeps nothing.
    pub(crate) fn new(data: Option<&Path>) -> Self {
        Self(data.map(Path::to_path_buf))
    }

    /// The file of the history. Makes the folder.
    fn history(&self) -> Option<PathBuf> {
        let folder = self.0.as_ref()?;
        match fs::create_dir_all(folder) {
            Ok(()) => Some(folder.join("chat_history")),
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "the chat's history is not kept");
                None
            }
        }
    }
}

type LineEditor = rustyline::Editor<Commands, FileHistory>;

/// Completes the commands of the chat with Tab.
struct Commands;

impl Completer for Commands {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Place<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let written = line.get(..at).unwrap_or_default();
        let found = completions(written).into_iter().map(str::to_owned);
        Ok((0, found.collect()))
    }
}

impl Hinter for Commands {
    type Hint = String;
}

impl Highlighter for Commands {}

impl Validator for Commands {}

impl Helper for Commands {}

/// Input of the user at the prompt.
#[derive(Debug)]
pub(super) enum Line {
    /// Wrote this.
    Written(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Reads lines in a thread of its own. Dropping it gives the terminal back as it was; the thread ends with the line that it
/// waits for.
pub(super) struct Editor {
    prompts: mpsc::Sender<String>,
    lines: mpsc::Receiver<io::Result<Line>>,
    printer: Box<dyn ExternalPrinter + Send>,
    terminal: AsBefore,
}

impl Editor {
    /// An editor on this process's terminal.
    ///
    /// # Errors
    ///
    /// There is no terminal that it could use.
    pub(super) fn open(folder: &Folder) -> anyhow::Result<Self> {
        let terminal = AsBefore::new().context("the terminal cannot be used")?;
        let config = Config::builder()
            .auto_add_history(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = LineEditor::with_config(config).context("the terminal cannot be used")?;
        editor.set_helper(Some(Commands));
        editor.set_max_history_size(HISTORY)?;
        let history = folder.history();
        if let Some(file) = history.as_ref().filter(|file| file.exists())
            && let Err(error) = editor.load_history(file)
        {
            tracing::warn!(%error, file = %file.display(), "the chat's history cannot be read");
        }
        let printer = editor
            .create_external_printer()
            .context("the terminal cannot be used")?;
        let (prompts, orders) = mpsc::channel(1);
        let (answers, lines) = mpsc::channel(1);
        // A read of the terminal cannot be broken off, so nobody waits for this thread.
        thread::spawn(move || read(editor, history.as_deref(), orders, &answers));
        Ok(Self {
            prompts,
            lines,
            printer: Box::new(printer),
            terminal,
        })
    }

    /// Shows the prompt, with something written already.
    pub(super) async fn ask(&mut self, written: String) {
        // Without the thread the next line is the end.
        let _ = self.prompts.send(written).await;
    }

    /// The next input of the user. Cancel-safe.
    pub(super) async fn line(&mut self) -> io::Result<Line> {
        self.lines.recv().await.unwrap_or(Ok(Line::End))
    }

    /// Leaves the line that is being written.
    pub(super) fn abandon(&mut self) {
        self.terminal.restore();
        // The terminal may be gone.
        let _ = output::styled(UNMARKED_PASTE);
    }

    /// Prints above the prompt.
    pub(super) fn print(&mut self, text: &str) {
        if let Err(error) = self.printer.print(format!("{text}\n")) {
            tracing::debug!(%error, "something could not be printed");
        }
    }
}

fn read(
    mut editor: LineEditor,
    history: Option<&Path>,
    mut prompts: mpsc::Receiver<String>,
    lines: &mpsc::Sender<io::Result<Line>>,
) {
    while let Some(written) = prompts.blocking_recv() {
        let line = match editor.readline_with_initial("> ", (&written, "")) {
            Ok(line) => Ok(Line::Written(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        };
        if let Some(file) = history
            && !editor.history().is_empty()
            && let Err(error) = editor.append_history(file)
        {
            tracing::debug!(%error, "the chat's history could not be written");
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The terminal's settings, which are put back at the end, also in the middle of a line.
struct AsBefore(Termios);

impl AsBefore {
    fn new() -> io::Result<Self> {
        Ok(Self(tcgetattr(io::stdin().as_fd())?))
    }

    fn restore(&self) {
        // The terminal may be gone.
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}

impl Drop for AsBefore {
    fn drop(&mut self) {
        self.restore();
    }
}
