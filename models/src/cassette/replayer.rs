//! A model that answers what another one was recorded to answer.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_runs::redact;
use async_trait::async_trait;

use super::{
    super::{Completion, DeltaSink, LanguageModel, ModelError, Request, stand_in},
    format::{self, Ended, MAX_BYTES, Unreadable},
    miss::{self, Candidate},
    variable::Normal,
};

/// Time for which a call waits that was given up when it was recorded, for whoever asks to give it up again.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// Answers from a recording, without any network or key.
///
/// The same request gets the same answer, in pieces as they were. One that was recorded several times gets its answers in the order in which
/// they came, and after them the last again. Clones share how far that is. What was not recorded is [`ModelError::NotRecorded`].
#[derive(Clone)]
pub struct Replayer {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    model: String,
    calls_tools: bool,
    is_torn: bool,
    requests: Vec<Recorded>,
    /// Places of the requests of one key, in order.
    by_key: HashMap<String, Vec<usize>>,
    /// Number of answers to each request.
    served: Mutex<Vec<usize>>,
}

struct Recorded {
    line: usize,
    normal: Normal,
    ended: Ended,
}

impl Replayer {
    /// Reads the recording at `path`. A last line that was broken off when the recorder died is left out.
    ///
    /// # Errors
    ///
    /// [`ModelError::Misconfigured`]: there is no such file, or it is no recording of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let at = path.display();
        let unusable =
            |why: &dyn fmt::Display| ModelError::Misconfigured(format!("the recording {at} {why}"));
        let text = read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unusable(&"is not there: --record makes one"),
            io::ErrorKind::InvalidData => unusable(&Unreadable::Foreign),
            _ => unusable(&format_args!("cannot be read: {error}")),
        })?;
        let recording = format::read(&text).map_err(|why| unusable(&why))?;
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        let mut requests = Vec::new();
        for (number, entry) in recording.entries {
            let normal = Normal::of(&entry.request);
            by_key
                .entry(normal.key.clone())
                .or_default()
                .push(requests.len());
            requests.push(Recorded {
                line: number,
                normal,
                ended: entry.ended,
            });
        }
        for indices in by_key.values_mut() {
            let was_answered = |at: &usize| requests[*at].ended != Ended::Abandoned;
            if indices.iter().any(was_answered) {
                indices.retain(was_answered);
            }
        }
        Ok(Self {
            shared: Arc::new(Shared {
                path: path.to_owned(),
                model: recording.header.model,
                calls_tools: recording.header.calls_tools,
                is_torn: recording.is_torn,
                served: Mutex::new(vec![0; requests.len()]),
                requests,
                by_key,
            }),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// True if the last answer was left out, as it was broken off while it was written.
    pub fn is_torn(&self) -> bool {
        self.shared.is_torn
    }

    /// The recorded request that answers this one, which is used up by it.
    fn take(&self, asked: &Normal) -> Option<&Recorded> {
        let shared = &*self.shared;
        let same = shared.by_key.get(&asked.key)?;
        let mut served = shared.served.lock().unwrap_or_else(PoisonError::into_inner);
        let next = same.iter().find(|at| served[**at] == 0);
        let at = *next.or(same.last())?;
        served[at] += 1;
        Some(&shared.requests[at])
    }

    fn missed(&self, asked: &Normal) -> ModelError {
        let shared = &*self.shared;
        let served = shared.served.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates = shared.requests.iter().zip(served.iter());
        let candidates: Vec<_> = candidates
            .map(|(recorded, served)| Candidate {
                line: recorded.line,
                request: &recorded.normal.request,
                is_used: *served > 0,
            })
            .collect();
        drop(served);
        let said = miss::described(&shared.path, &asked.request, &candidates);
        // The first line says who asked and what to do; the others show what was asked.
        let first = miss::without_difference(&said);
        let difference = &said[first.len()..];
        tracing::error!("{}", redact::text(first));
        // What the error becomes on its way is shortened.
        tracing::debug!("{}", redact::text(difference));
        ModelError::NotRecorded(said)
    }
}

#[async_trait]
impl LanguageModel for Replayer {
    fn name(&self) -> &str {
        &self.shared.model
    }

    fn calls_tools(&self) -> bool {
        self.shared.calls_tools
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        let asked = Normal::of(&request);
        let Some(recorded) = self.take(&asked) else {
            return Err(self.missed(&asked));
        };
        match &recorded.ended {
            Ended::Answer { completion, pieces } => {
                let answer = recorded.normal.answer_for(&asked, completion);
                let is_whole = pieces.iter().sum::<usize>() == completion.text.chars().count();
                match is_whole {
                    true => stand_in::stream_in(&answer.text, pieces, &deltas).await,
                    false => stand_in::stream(&answer.text, &deltas).await,
                }
                Ok(answer)
            }
            Ended::Error(error) => Err(error.clone()),
            Ended::Abandoned => {
                tokio::time::sleep(GIVEN_UP).await;
                Err(ModelError::NotRecorded(format!(
                    "when {} was recorded, this request (line {}) was given up before there was an answer",
                    self.shared.path.display(),
                    recorded.line
                )))
            }
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if length > MAX_BYTES {
        let most = MAX_BYTES / 1024 / 1024;
        return Err(io::Error::other(format!("it is larger than {most} MiB")));
    }
    let bytes = fs::read(path)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            // A last line may end inside a character.
            let (valid, torn) = (error.utf8_error().valid_up_to(), error.into_bytes());
            let is_last = !torn[valid..].contains(&b'\n');
            match is_last {
                true => Ok(String::from_utf8_lossy(&torn).into_owned()),
                false => Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayer")
            .field("path", &self.shared.path)
            .field("model", &self.shared.model)
            .field("requests", &self.shared.requests.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::FutureExt;
    use tracing::Level;
    use tracing_subscriber::fmt::MakeWriter;

    use super::{
        super::{
            super::{Offline, PromptMessage},
            Recorder,
        },
        *,
    };

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panicked").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn request(words: &str) -> Request {
        Request::new(vec![
            PromptMessage::system("You judge."),
            PromptMessage::user(words),
        ])
    }

    /// Lines that are logged at this level where a request was not recorded.
    fn logged(level: Level) -> (String, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("team.jsonl");
        let recorder = Recorder::new(Arc::new(Offline), &file).expect("it can be written");
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().expect("a runtime");
        let ask = recorder.complete(request("autumn"), DeltaSink::ignored());
        runtime.block_on(ask).expect("an answer");
        let replayer = Replayer::open(&file).expect("it was recorded");
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(lines.clone())
            .with_ansi(false)
            .with_max_level(level)
            .finish();
        let said = tracing::subscriber::with_default(subscriber, || {
            let asked = request("winter api_key=hunter2hunter2");
            let missed = replayer.complete(asked, DeltaSink::ignored());
            let missed = missed.now_or_never().expect("it waits for nothing");
            missed.expect_err("it was not recorded").to_string()
        });
        let bytes = lines.0.lock().expect("nobody panicked").clone();
        (said, String::from_utf8(bytes).expect("it is text"))
    }

    #[test]
    fn what_was_asked_is_in_the_error_and_in_the_log_only_where_that_is_asked_for() {
        let (said, log) = logged(Level::ERROR);
        assert!(said.contains("+winter"), "{said}");
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(log.contains("--record") && !log.contains("winter"), "{log}");

        let (_, log) = logged(Level::DEBUG);
        assert!(log.contains("+winter"), "{log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}
