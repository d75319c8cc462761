//! The frames of a run, one after the other, whatever breaks in between.

use std::time::Duration;

use agenthub_proto::cortex::Frame;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::task::AbortOnDropHandle;
use tonic::Streaming;

use super::line::{Line, Trouble};

/// News that wait to be shown; reading waits when there are more.
const NEWS: usize = 64;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Time for which nobody may be there.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something about a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// The next frame.
    Frame(Frame),
    /// No connection; it is tried again.
    Broken(String),
    /// A connection again.
    Back,
}

/// Follows one run. Dropping it ends that; the run goes on.
#[derive(Debug)]
pub(crate) struct Following {
    news: mpsc::Receiver<Result<News, Trouble>>,
    _reading: AbortOnDropHandle<()>,
}

impl Following {
    /// Follows a run from its first frame behind `after` to its last.
    pub(crate) fn new(line: Line, run: String, after: u64) -> Self {
        let (sender, news) = mpsc::channel(NEWS);
        let reading = tokio::spawn(read(line, run, after, sender));
        Self {
            news,
            _reading: AbortOnDropHandle::new(reading),
        }
    }

    /// The next news; `None` behind the last frame. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The run is not known, or nobody has been there for two minutes.
    pub(crate) async fn next(&mut self) -> Result<Option<News>, Trouble> {
        self.news.recv().await.transpose()
    }
}

/// True if no frame follows.
pub(crate) fn is_last(frame: &Frame) -> bool {
    matches!(&*frame.r#type, "complete" | "error")
}

async fn read(line: Line, run: String, mut after: u64, news: mpsc::Sender<Result<News, Trouble>>) {
    // Whoever drops the other end ends this task, too.
    let tell = async |what| _ = news.send(what).await;
    let mut since: Option<Instant> = None;
    let mut is_broken = false;
    loop {
        let before = after;
        let trouble = match line.watch(&run, after).await {
            Ok(frames) => {
                if std::mem::take(&mut is_broken) {
                    tell(Ok(News::Back)).await;
                }
                match pass_on(&line, frames, &mut after, &news).await {
                    None => return,
                    Some(trouble) => trouble,
                }
            }
            Err(trouble) => trouble,
        };
        let began = *since
            .take_if(|_| after == before)
            .get_or_insert_with(Instant::now);
        since = Some(began);
        if !trouble.is_retryable() || began.elapsed() > PATIENCE {
            tell(Err(trouble)).await;
            return;
        }
        if !std::mem::replace(&mut is_broken, true) {
            tell(Ok(News::Broken(trouble.to_string()))).await;
        }
        sleep(PAUSE).await;
    }
}

/// Passes on the frames of one stream. Returns why it ended, or nothing where the run is over or nobody listens.
async fn pass_on(
    line: &Line,
    mut frames: Streaming<Frame>,
    after: &mut u64,
    news: &mpsc::Sender<Result<News, Trouble>>,
) -> Option<Trouble> {
    let broken = |reason: &str| Trouble::Away {
        url: line.url().to_owned(),
        reason: reason.to_owned(),
    };
    let mut has_any = false;
    loop {
        let frame = match frames.message().await {
            Ok(Some(frame)) => frame,
            // The last frame ends the stream; without it, all that there is was seen before.
            Ok(None) if !has_any => {
                let why = format!(
                    "the run is over, and has no frame behind {after}: watch it without --after"
                );
                return Some(Trouble::Invalid {
                    fields: Vec::new(),
                    why,
                });
            }
            Ok(None) => return Some(broken("the stream ended")),
            Err(status) => return Some(line.trouble(&status)),
        };
        has_any = true;
        // What came before is known; what is missing comes on the next stream.
        if frame.sequence <= *after {
            continue;
        }
        if frame.sequence > *after + 1 {
            return Some(broken("frames are missing"));
        }
        *after = frame.sequence;
        let is_over = is_last(&frame);
        if news.send(Ok(News::Frame(frame))).await.is_err() || is_over {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;
    use tonic::Status;

    use super::*;
    use crate::run::fake::{Fake, Script, StreamScript, frames};

    /// The news of a run until its end, with what was asked for meanwhile.
    async fn news(streams: Vec<StreamScript>, after: u64) -> (Vec<String>, Vec<u64>) {
        let script = Script {
            streams: streams.into(),
            ..Script::default()
        };
        let fake = Fake::start(script).await;
        let mut following = Following::new(fake.line(), "r1".to_owned(), after);
        let mut seen = Vec::new();
        let all = async {
            loop {
                match following.next().await {
                    Ok(Some(News::Frame(frame))) => seen.push(frame.message),
                    Ok(Some(News::Broken(_))) => seen.push("broken".to_owned()),
                    Ok(Some(News::Back)) => seen.push("back".to_owned()),
                    Ok(None) => return,
                    Err(trouble) => return seen.push(trouble.to_string()),
                }
            }
        };
        timeout(Duration::from_secs(20), all)
            .await
            .expect("the run ends");
        let asked = fake.script.lock().expect("nobody panics").asked.clone();
        (seen, asked)
    }

    fn away() -> Option<Status> {
        Some(Status::unavailable("the hub stops"))
    }

    #[tokio::test]
    async fn a_run_is_followed_to_its_end() {
        let (seen, asked) = news(vec![StreamScript::Frames(frames(1, 3, true), None)], 0).await;
        assert_eq!(seen, ["m1", "m2", "m3"]);
        assert_eq!(asked, [0]);
    }

    /// Whatever breaks, each frame comes once, in order.
    ///
    /// spec: ORC-4
    #[tokio::test]
    async fn no_frame_is_missing_or_doubled_where_streams_break() {
        let over = Some(Status::ok(""));
        let streams = vec![
            StreamScript::Frames(frames(1, 2, false), away()),
            StreamScript::Refused(Status::unavailable("not yet")),
            StreamScript::Frames(frames(2, 3, false), over),
            StreamScript::Frames(frames(5, 6, true), None),
            StreamScript::Frames(frames(4, 6, true), None),
        ];
        let (seen, asked) = news(streams, 0).await;
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        let expected = [
            "m1", "m2", "broken", "back", "m3", "broken", "back", "broken", "back", "m4", "m5",
            "m6",
        ];
        assert_eq!(seen, expected);
        assert_eq!(asked, [0, 2, 2, 3, 3]);
    }

    #[tokio::test]
    async fn who_comes_back_sees_what_came_since() {
        let (seen, asked) = news(vec![StreamScript::Frames(frames(4, 5, true), None)], 3).await;
        assert_eq!(seen, ["m4", "m5"]);
        assert_eq!(asked, [3]);
    }

    #[tokio::test]
    async fn a_run_that_is_not_known_is_not_waited_for() {
        let (seen, asked) = news(Vec::new(), 0).await;
        assert_eq!(seen, ["no such run"]);
        assert_eq!(asked, [0]);
    }
}
