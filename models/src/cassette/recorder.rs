//! A model that is overheard.

use std::{
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;

use super::{
    super::{Completion, DeltaSink, LanguageModel, ModelError, Request, deltas},
    format::{self, Ended, Entry, Header, MAX_BYTES},
};

/// The most that waits for the first answer, which replaces a recording that was there, in bytes.
const MAX_HELD: usize = 8 * 1024 * 1024;

/// Writes what a model is asked, and what it answers, into a file for a [`Replayer`](super::Replayer).
///
/// Each answer is in the file before it is handed on, so that a process that dies loses none. A call that is dropped is recorded as given up. On
/// Unix the file is its owner's alone.
#[derive(Debug, Clone)]
pub struct Recorder {
    inner: Arc<dyn LanguageModel>,
    tape: Arc<Tape>,
}

impl Recorder {
    /// Records a model into the file at `path`. A recording that is there is replaced with the first answer: without one, as when
    /// the key is wrong, it stays. Another file is left alone.
    ///
    /// # Errors
    ///
    /// [`ModelError::Misconfigured`]: the file cannot be written, is no recording, or is being written by another.
    pub fn new(inner: Arc<dyn LanguageModel>, path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let tape = Arc::new(Tape::begin(
            path.as_ref(),
            inner.name(),
            inner.calls_tools(),
        )?);
        Ok(Self { inner, tape })
    }

    /// Records another model into the same file.
    #[must_use]
    pub fn beside(&self, inner: Arc<dyn LanguageModel>) -> Self {
        Self {
            inner,
            tape: self.tape.clone(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.tape.path
    }
}

#[async_trait]
impl LanguageModel for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn calls_tools(&self) -> bool {
        self.inner.calls_tools()
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        let mut call = Call {
            tape: &self.tape,
            entry: Some(Entry {
                model: self.inner.name().to_owned(),
                request: request.clone(),
                ended: Ended::Abandoned,
            }),
        };
        let (sink, mut pieces) = self::deltas();
        let passed_on = async {
            let mut lengths = Vec::new();
            while let Some(piece) = pieces.next().await {
                lengths.push(piece.chars().count());
                deltas.push(&piece);
            }
            lengths
        };
        let (answer, pieces) = tokio::join!(self.inner.complete(request, sink), passed_on);
        let ended = match &answer {
            Ok(completion) => Ended::Answer {
                completion: completion.clone(),
                pieces,
            },
            Err(error) => Ended::Error(error.clone()),
        };
        call.end(ended)?;
        answer
    }
}

/// A call under way. Dropping it records that it was given up.
struct Call<'a> {
    tape: &'a Tape,
    entry: Option<Entry>,
}

impl Call<'_> {
    fn end(&mut self, ended: Ended) -> Result<(), ModelError> {
        match self.entry.take() {
            Some(entry) => self.tape.write(&Entry { ended, ..entry }),
            None => Ok(()),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.end(Ended::Abandoned) {
            tracing::warn!(%error, "a call that was given up is not in the recording");
        }
    }
}

/// The file that is written.
struct Tape {
    path: PathBuf,
    /// The model that was recorded first.
    model: String,
    calls_tools: bool,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// Bytes written so far; 0 before the first of them, which replace what was there.
    length: u64,
    /// The failures before the first answer, while there is a recording that it will replace.
    held: Option<String>,
}

impl Tape {
    fn begin(path: &Path, model: &str, calls_tools: bool) -> Result<Self, ModelError> {
        let at = path.display();
        let unusable = |error: io::Error| {
            ModelError::Misconfigured(format!("the recording {at} cannot be written: {error}"))
        };
        let mut file = open(path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ModelError::Misconfigured(format!(
                    "{at} is being recorded into already: end who does that, or name another file"
                )));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let beginning = beginning(&mut file).map_err(unusable)?;
        if !is_recording(&beginning) {
            return Err(ModelError::Misconfigured(format!(
                "{at} is there and is no recording, so it is left alone: name another file"
            )));
        }
        keep_private(&file).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            model: model.to_owned(),
            calls_tools,
            state: Mutex::new(State {
                file,
                length: 0,
                held: (!beginning.is_empty()).then(String::new),
            }),
        })
    }

    /// Appends a line, or nothing. The first follows the one that says what the file is.
    fn write(&self, entry: &Entry) -> Result<(), ModelError> {
        let mut line = format::line(entry);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let unusable = |why: String| {
            let at = self.path.display();
            ModelError::Misconfigured(format!("the recording {at} cannot be written: {why}"))
        };
        if let Some(held) = &mut state.held {
            if !matches!(entry.ended, Ended::Answer { .. }) {
                match held.len() + line.len() <= MAX_HELD {
                    true => held.push_str(&line),
                    false => tracing::warn!("a call without an answer is not in the recording"),
                }
                return Ok(());
            }
            line.insert_str(0, held);
        }
        if state.length == 0 {
            line.insert_str(
                0,
                &format::line(&Header::new(
                    &self.model,
                    self.calls_tools,
                    SystemTime::now(),
                )),
            );
        }
        let length = state.length + line.len() as u64;
        if length > MAX_BYTES {
            let most = MAX_BYTES / 1024 / 1024;
            return Err(unusable(format!("it has all {most} MiB that it may have")));
        }
        let before = state.length;
        // What was there, such as half a line after a failure, ends where this begins.
        let file = &mut state.file;
        let written = file
            .set_len(before)
            .and_then(|()| file.seek(SeekFrom::Start(before)))
            .and_then(|_| file.write_all(line.as_bytes()));
        written.map_err(|error| unusable(error.to_string()))?;
        state.length = length;
        state.held = None;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Leaves the file to its owner alone.
fn keep_private(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// The first bytes of a file.
fn beginning(file: &mut File) -> io::Result<Vec<u8>> {
    const BEGINNING: usize = 64;
    let mut beginning = Vec::with_capacity(BEGINNING);
    file.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}

/// True if there is nothing, or the beginning of a recording.
fn is_recording(beginning: &[u8]) -> bool {
    let format = format!("{{\"format\":\"{}\"", format::FORMAT);
    beginning.is_empty() || beginning.starts_with(format.as_bytes())
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tape").field(&self.path).finish()
    }
}
