//! Recordings of models: a [`Recorder`] writes what a model is asked and what it answers into a file, a [`Replayer`] answers from it.
//!
//! Whoever has the file has the prompts and the answers as they were, with everything that people and agents said in them. Keys are in
//! no request, so none is in the file.
//!
//! A request is known again by everything that the model is told: messages, tools, the form of the answer, temperature and length. What
//! differs from one run to the next without meaning anything does not count: UUIDs, as long as the same ones are the same, and times as
//! RFC 3339 has them. In the replayed answer stand those of the request that it answers.
//!
//! ```
//! # async fn f() -> Result<(), agenthub_models::ModelError> {
//! # use std::sync::Arc;
//! # use agenthub_models::{DeltaSink, LanguageModel, Offline, PromptMessage, Recorder, Replayer, Request};
//! # let folder = std::env::temp_dir().join(format!("cassette-{}", std::process::id()));
//! # let file = &folder;
//! let request = Request::new(vec![PromptMessage::user("Who are you?")]);
//! let recorder = Recorder::new(Arc::new(Offline), file)?;
//! let said = recorder.complete(request.clone(), DeltaSink::ignored()).await?;
//!
//! let replayer = Replayer::open(file)?;
//! assert_eq!(replayer.complete(request, DeltaSink::ignored()).await?, said);
//! # std::fs::remove_file(file).ok();
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().expect("a runtime").block_on(f()).expect("it replays");
//! ```

mod format;
mod miss;
mod recorder;
mod replayer;
mod shown;
mod variable;

pub use miss::without_difference;
pub use recorder::Recorder;
pub use replayer::Replayer;
