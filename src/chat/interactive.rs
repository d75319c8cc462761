//! The chat on a terminal.
//!
//! Either the user writes, or a turn is watched. Turns that went to the background go on meanwhile; their answers are printed
//! above the prompt.

use std::{collections::BTreeMap, time::Duration};

use agenthub_terminal::{
    listing,
    output::{self, cut, plain},
    run::Asking,
    stop::{Signal, Signals},
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    ahead::Ahead,
    attached::Attached,
    command::{self, Command, HELP, Input},
    editor::{Editor, Folder, Line},
    keys::{Key, Keys},
    notice,
    presence::{Presence, Standing},
    screen::{Screen, dim},
    session::Session,
    turn::{self, Said},
    turn_view::{End, Show},
};

/// Shows of turns that wait here; turns wait when it is full.
const EVENTS: usize = 256;

/// Time for which cancelled turns are waited for when the user leaves.
const LEAVE: Duration = Duration::from_secs(2);

/// Interval at which the spinner's line is looked at.
const TICK: Duration = Duration::from_millis(500);

/// The words of a request by which its answer is recognised, in characters.
const TITLE: usize = 40;

/// Talks until the user leaves or the process is told to stop. Returns the context of the last conversation, if anything was said.
pub(crate) async fn interactive(
    session: Session,
    folder: Folder,
    signals: &mut Signals,
) -> anyhow::Result<Option<String>> {
    let editor = Editor::open(&folder)?;
    let mut talk = Talk::new(session, editor)?;
    let result = talk.run(signals).await;
    let context = talk.is_begun.then(|| talk.session.context.clone());
    talk.leave().await;
    result.map(|()| context)
}

/// Something that a turn tells.
struct TurnEvent {
    turn: u64,
    what: TurnEventKind,
}

enum TurnEventKind {
    Shows(Show),
    Ended(End),
}

struct Turn {
    title: String,
    cancel: CancellationToken,
    /// The files that went with it.
    attached: Attached,
}

/// Next step after a turn was watched.
enum After {
    /// The line that was typed ahead, or else the user writes.
    Next,
    Leave,
}

struct Talk {
    session: Session,
    presence: Presence,
    asking: Asking,
    editor: Editor,
    ahead: Ahead,
    attached: Attached,
    /// The turns that have not ended.
    turns: BTreeMap<u64, Turn>,
    next: u64,
    /// Something was said in this conversation.
    is_begun: bool,
    running: JoinSet<()>,
    tell: mpsc::Sender<TurnEvent>,
    told: mpsc::Receiver<TurnEvent>,
}

impl Talk {
    fn new(session: Session, editor: Editor) -> anyhow::Result<Self> {
        let (tell, told) = mpsc::channel(EVENTS);
        Ok(Self {
            presence: Presence::new(&session.client),
            asking: session.asking()?,
            session,
            editor,
            ahead: Ahead::default(),
            attached: Attached::default(),
            turns: BTreeMap::new(),
            next: 0,
            is_begun: false,
            running: JoinSet::new(),
            tell,
            told,
        })
    }

    async fn run(&mut self, signals: &mut Signals) -> anyhow::Result<()> {
        let mut was_interrupted = false;
        loop {
            let line = match self.ahead.next() {
                Some(line) => {
                    output::line(format!("> {}", plain(&line)))?;
                    Line::Written(line)
                }
                None => {
                    let begun = self.ahead.take_begun();
                    match self.prompt(begun, signals).await? {
                        Some(line) => line,
                        None => return Ok(()),
                    }
                }
            };
            let is_second = std::mem::replace(&mut was_interrupted, false);
            match line {
                Line::End => return Ok(()),
                Line::Interrupted if is_second => return Ok(()),
                Line::Interrupted => was_interrupted = self.interrupted(),
                Line::Written(line) => match command::parse(&line) {
                    Input::Nothing => {}
                    Input::Say(words) => {
                        let turn = self.begin(words);
                        if let After::Leave = self.watch(turn, signals).await? {
                            return Ok(());
                        }
                    }
                    Input::Command(Command::Quit) => return Ok(()),
                    Input::Command(command) => self.command(command).await?,
                    Input::Unknown(name) => output::line(notice::unknown(&plain(name)))?,
                },
            }
        }
    }

    /// The user's input at the prompt; `None` if the process is told to stop.
    async fn prompt(
        &mut self,
        written: String,
        signals: &mut Signals,
    ) -> anyhow::Result<Option<Line>> {
        self.editor.ask(written).await;
        loop {
            tokio::select! {
                line = self.editor.line() => return Ok(Some(line?)),
                Some(told) = self.told.recv() => if let Some(text) = self.in_background(told) {
                    self.editor.print(&text);
                },
                standing = self.presence.next() => {
                    let line = self.standing(&standing);
                    self.editor.print(&line);
                }
                asked = self.asking.next() => self.editor.print(&listing::runs::question(&asked)),
                signal = signals.next() => if signal == Signal::Terminate {
                    self.editor.abandon();
                    return Ok(None);
                },
            }
        }
    }

    /// Ctrl-C at the prompt. Returns whether another one leaves.
    fn interrupted(&mut self) -> bool {
        if self.turns.is_empty() {
            output::styled_aside(dim("(Ctrl-C again, or Ctrl-D, leaves)"));
            return true;
        }
        for turn in self.turns.values() {
            turn.cancel.cancel();
        }
        false
    }

    fn begin(&mut self, words: &str) -> u64 {
        self.is_begun = true;
        self.next += 1;
        let id = self.next;
        let cancel = CancellationToken::new();
        let turn = Turn {
            title: cut(words, TITLE),
            cancel: cancel.clone(),
            attached: self.attached.clone(),
        };
        self.turns.insert(id, turn);
        let (session, tell) = (self.session.clone(), self.tell.clone());
        let said = Said {
            words: words.to_owned(),
            files: self.attached.take(),
        };
        while self.running.try_join_next().is_some() {}
        self.running.spawn(async move {
            let told = async |what| {
                // Nobody listens any more when the user has left.
                let _ = tell.send(TurnEvent { turn: id, what }).await;
            };
            let show = |show| told(TurnEventKind::Shows(show));
            let end = turn::run(session, said, cancel, show).await;
            told(TurnEventKind::Ended(end)).await;
        });
        id
    }

    /// Watches a turn until it ends or the user wants something else.
    async fn watch(&mut self, watched: u64, signals: &mut Signals) -> anyhow::Result<After> {
        let mut keys = Keys::open()?;
        let mut screen = Screen::begin();
        screen.typed(self.ahead.begun());
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let after = loop {
            let key = tokio::select! {
                key = keys.next() => key,
                Some(told) = self.told.recv() => {
                    if told.turn != watched {
                        if let Some(text) = self.in_background(told) {
                            screen.line(&text);
                        }
                        continue;
                    }
                    match told.what {
                        TurnEventKind::Shows(show) => draw(&mut screen, show),
                        TurnEventKind::Ended(end) => {
                            let turn = self.turns.remove(&watched);
                            if let Some(line) = ended(&end) {
                                screen.line(&line);
                            }
                            // What is said again has the files again.
                            if let (End::Failed(_), Some(turn)) = (&end, turn)
                                && let Some(line) = self.attached.put_back(turn.attached)
                            {
                                screen.line(&dim(&line));
                            }
                            break After::Next;
                        }
                    }
                    continue;
                }
                standing = self.presence.next() => {
                    screen.line(&self.standing(&standing));
                    continue;
                }
                asked = self.asking.next() => {
                    screen.line(&listing::runs::question(&asked));
                    continue;
                }
                _ = ticks.tick() => {
                    screen.tick(self.presence.is_cut_off());
                    continue;
                }
                signal = signals.next() => match signal {
                    Signal::Interrupt => Key::Interrupt,
                    Signal::Terminate => break After::Leave,
                },
            };
            let refused = self.ahead.key(key);
            match key {
                Key::Char(_) | Key::Backspace | Key::Clear => screen.typed(self.ahead.begun()),
                Key::Gone => break After::Leave,
                Key::Interrupt => {
                    if let Some(turn) = self.turns.get(&watched) {
                        if turn.cancel.is_cancelled() {
                            break After::Next;
                        }
                        turn.cancel.cancel();
                        screen.doing("cancelling");
                    }
                }
                Key::Enter => {
                    if let Some(line) = refused {
                        screen.line(&too_many(&line));
                    }
                    screen.typed("");
                    screen.line(&dim("(goes on in the background)"));
                    break After::Next;
                }
            }
        };
        screen.end();
        for key in keys.close().await {
            if let Some(line) = self.ahead.key(key) {
                output::styled_aside(too_many(&line));
            }
        }
        Ok(after)
    }

    /// Text to print of a turn that nobody watches.
    fn in_background(&mut self, told: TurnEvent) -> Option<String> {
        let turn = self.turns.get(&told.turn)?;
        let title = dim(&format!("[{}]", turn.title));
        match told.what {
            TurnEventKind::Shows(Show::Answer { text, .. }) => {
                Some(format!("{title}\n{}", plain(&text)))
            }
            TurnEventKind::Shows(Show::Asks(asked)) => {
                Some(format!("{title}\n{}", asked.question()))
            }
            TurnEventKind::Shows(_) => None,
            TurnEventKind::Ended(end) => {
                self.turns.remove(&told.turn);
                ended(&end).map(|line| format!("{title}\n{line}"))
            }
        }
    }

    async fn command(&mut self, command: Command<'_>) -> anyhow::Result<()> {
        let text = match command {
            Command::Help => Ok(HELP.to_owned()),
            Command::Agents => notice::agents(&self.session).await,
            Command::Tasks => notice::tasks(&self.session).await,
            Command::Runs => notice::runs(&self.session).await,
            Command::Attach(path) => self.attached.attach(path).await,
            Command::Detach => Ok(self.attached.detach()),
            Command::Approvals => notice::approvals(&self.session).await,
            Command::Answer { approved, id, why } => {
                notice::answered(&self.session, approved, id, why).await
            }
            Command::New => match self.session.anew().await {
                Ok(session) => {
                    self.presence = Presence::new(&session.client);
                    self.session = session;
                    self.is_begun = false;
                    return Ok(output::styled(dim("a new conversation begins"))?);
                }
                Err(error) => Err(error.into()),
            },
            Command::Quit => return Ok(()),
        };
        let text = text.unwrap_or_else(|error| format!("error: {}", plain(&format!("{error:#}"))));
        Ok(output::line(text)?)
    }

    fn standing(&self, standing: &Standing) -> String {
        dim(&plain(&standing.line(&self.session.hub)))
    }

    /// Cancels what is still at work, and says goodbye.
    async fn leave(mut self) {
        for turn in self.turns.values() {
            turn.cancel.cancel();
        }
        self.told.close();
        let ended = async { while self.running.join_next().await.is_some() {} };
        if timeout(LEAVE, ended).await.is_err() {
            tracing::info!("not every request could be cancelled");
        }
        self.session.client.close().await;
    }
}

fn draw(screen: &mut Screen, show: Show) {
    match show {
        Show::Doing(text) | Show::Writing(text) => screen.doing(&text),
        Show::Note(text) => screen.line(&dim(&format!("· {}", cut(&text, 200)))),
        Show::Asks(asked) => screen.line(&asked.question()),
        Show::Text(piece) => screen.text(&piece),
        Show::Void => screen.void(),
        Show::Answer { text, shown } => screen.answer(&text, shown),
    }
}

/// Text on the end of a turn.
fn ended(end: &End) -> Option<String> {
    match end {
        End::Answered(_) => None,
        End::Failed(reason) => Some(format!("Failed: {}", plain(reason))),
        End::Cancelled => Some(dim("(cancelled)")),
    }
}

/// Text on a line that found no room.
fn too_many(line: &str) -> String {
    dim(&format!(
        "(too much typed ahead, left out: {})",
        cut(line, TITLE)
    ))
}
