//! Recording of models, and replay from a recording.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_sdk::model::{LanguageModel, Recorder, Replayer};
use agenthub_terminal::output;
use anyhow::bail;

/// Recording or replay, as the command line asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CassetteFlag {
    /// `--record FILE`
    Record(PathBuf),
    /// `--replay FILE`
    Replay(PathBuf),
}

/// The recording of this process. All of its models share it, and so do clones.
#[derive(Clone, Debug, Default)]
pub(crate) enum Cassette {
    /// No recording.
    #[default]
    None,
    /// Writes the models' requests and answers into a file.
    Record(Arc<Recording>),
    /// A file answers in place of models.
    Replay(Replayer),
}

/// A file that is written once a model is there.
#[derive(Debug)]
pub(crate) struct Recording {
    path: PathBuf,
    /// The recorder of the first model; those of the others go beside it.
    first: Mutex<Option<Recorder>>,
}

impl Cassette {
    /// Opens the cassette of a flag. A recording that is to be replayed is read.
    ///
    /// # Errors
    ///
    /// It cannot be read, in one line that says why.
    pub(crate) fn open(wanted: Option<&CassetteFlag>) -> anyhow::Result<Self> {
        Ok(match wanted {
            None => Self::None,
            Some(CassetteFlag::Record(path)) => Self::Record(Arc::new(Recording {
                path: path.clone(),
                first: Mutex::default(),
            })),
            Some(CassetteFlag::Replay(path)) => {
                let replayer = Replayer::open(path)?;
                if replayer.is_torn() {
                    output::aside(format!(
                        "warning: the last answer in {} was broken off while it was recorded, and is left out",
                        path.display()
                    ));
                }
                Self::Replay(replayer)
            }
        })
    }

    /// The replayer in place of every model, if there is one.
    pub(crate) fn replayer(&self) -> Option<&Replayer> {
        match self {
            Self::Replay(replayer) => Some(replayer),
            Self::None | Self::Record(_) => None,
        }
    }

    /// The model, recorded where that is wanted.
    ///
    /// # Errors
    ///
    /// The file cannot be written, in one line that says why.
    pub(crate) fn recorded(
        &self,
        model: Arc<dyn LanguageModel>,
    ) -> anyhow::Result<Arc<dyn LanguageModel>> {
        let Self::Record(recording) = self else {
            return Ok(model);
        };
        let mut first = recording
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let recorder = match &*first {
            Some(first) => first.beside(model),
            None => {
                let recorder = Recorder::new(model, &recording.path)?;
                first.insert(recorder).clone()
            }
        };
        Ok(Arc::new(recorder))
    }

    /// Description of it with the model of this name, for people; `None` where nothing is recorded or replayed.
    pub(crate) fn described(&self, model: &str) -> Option<String> {
        match self {
            Self::None => None,
            Self::Record(recording) => {
                Some(format!("{model}, recorded in {}", recording.path.display()))
            }
            Self::Replay(replayer) => Some(format!(
                "recorded from {model} in {}",
                replayer.path().display()
            )),
        }
    }

    /// Refuses to go on where models that are elsewhere would be asked.
    ///
    /// # Errors
    ///
    /// Something is to be recorded or replayed; `elsewhere` says who has the model.
    pub(crate) fn refuse_elsewhere(&self, elsewhere: &str) -> anyhow::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Record(_) => bail!(
                "the models are asked by {elsewhere}, so --record has nothing to record here: give it to that process, or --here to this one"
            ),
            Self::Replay(_) => bail!(
                "the models are asked by {elsewhere}, so --replay has nothing to answer here: give it to that process, or --here to this one"
            ),
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Record(recording) => Some(&recording.path),
            Self::Replay(replayer) => Some(replayer.path()),
        }
    }
}

/// The same thing is done with the same file.
impl PartialEq for Cassette {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.path() == other.path()
    }
}

impl Eq for Cassette {}
