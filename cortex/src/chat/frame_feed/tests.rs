use super::*;

#[derive(Default)]
struct Recorder {
    shown: Vec<Wire>,
    leaves_after: Option<usize>,
}

#[async_trait]
impl FrameSink for Recorder {
    async fn show(&mut self, _: &Frame, wire: Wire) -> bool {
        self.shown.push(wire);
        self.leaves_after != Some(self.shown.len())
    }
}

fn delta(text: &str, append: bool) -> Frame {
    Frame::Delta {
        text: text.to_owned(),
        append,
    }
}

async fn project(sink: &mut Recorder, frames: Vec<(u64, Frame)>) {
    let (view, projector) = open();
    let turn = async move {
        for (pause, frame) in frames {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            view.show(frame);
        }
    };
    tokio::join!(
        turn,
        projector.run(sink, "turn".to_owned(), "context".to_owned())
    );
}

fn kinds(sink: &Recorder) -> Vec<(u64, &str, &str)> {
    let shown = sink.shown.iter();
    shown
        .map(|w| (w.sequence, &*w.r#type, &*w.message))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn text_is_gathered_for_a_moment_and_frames_are_numbered() {
    let mut sink = Recorder::default();
    let frames = vec![
        (0, Frame::Start),
        (0, delta("a", false)),
        (20, delta("b", true)),
        (60, delta("c", true)),
        (0, delta("D", false)),
        (0, Frame::Message("D".to_owned())),
        (0, Frame::Complete("D".to_owned(), None)),
        (0, Frame::Start),
    ];
    project(&mut sink, frames).await;
    assert_eq!(
        kinds(&sink),
        [
            (1, "start", "at work"),
            (2, "delta", "ab"),
            (3, "delta", "c"),
            (4, "delta", "D"),
            (5, "message", "D"),
            (6, "complete", ""),
        ]
    );
    assert!(
        sink.shown
            .iter()
            .all(|w| w.correlation_id == "turn" && w.context_id == "context")
    );
}

#[tokio::test(start_paused = true)]
async fn much_text_is_not_held_back() {
    let mut sink = Recorder::default();
    let piece = "x".repeat(600);
    let frames = (0..4).map(|n| (0, delta(&piece, n > 0))).collect();
    project(&mut sink, frames).await;
    let sizes: Vec<usize> = sink.shown.iter().map(|w| w.message.len()).collect();
    assert_eq!(sizes, [1200, 1200]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_watches_goes_on() {
    let mut sink = Recorder {
        leaves_after: Some(1),
        ..Recorder::default()
    };
    let frames = (0..2000).map(|_| (0, Frame::Start)).collect();
    project(&mut sink, frames).await;
    assert_eq!(sink.shown.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_hangs_is_given_up() {
    struct Hanging;
    #[async_trait]
    impl FrameSink for Hanging {
        async fn show(&mut self, _: &Frame, _: Wire) -> bool {
            std::future::pending().await
        }
    }
    let (view, projector) = open();
    view.show(Frame::Start);
    let begun = Instant::now();
    let mut sink = Hanging;
    let shown = projector.run(&mut sink, String::new(), String::new());
    assert!(!shown.await);
    assert_eq!(begun.elapsed(), SINK_DEADLINE);
    view.show(Frame::Start);
}

#[tokio::test(start_paused = true)]
async fn what_another_process_has_shown_only_counts() {
    let mut sink = Recorder::default();
    let (view, projector) = open();
    let turn = async {
        view.skip();
        view.skip();
        view.show(Frame::Start);
        view.close(Vec::new()).await;
        view.show(Frame::Start);
    };
    let shown = projector.run(&mut sink, String::new(), String::new());
    let ((), all) = tokio::join!(turn, shown);
    assert!(all);
    assert_eq!(kinds(&sink), [(3, "start", "at work")]);
}

/// The turn ends, however long a sink takes, and the last frame is shown.
#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_no_sink() {
    /// Takes nothing until it is let.
    struct Stuck(Recorder, tokio::sync::oneshot::Receiver<()>);
    #[async_trait]
    impl FrameSink for Stuck {
        async fn show(&mut self, frame: &Frame, wire: Wire) -> bool {
            if !self.1.is_terminated() {
                // It is let once.
                let _ = (&mut self.1).await;
            }
            self.0.show(frame, wire).await
        }
    }
    let (view, projector) = open();
    let (go_on, stuck) = tokio::sync::oneshot::channel();
    let mut sink = Stuck(Recorder::default(), stuck);
    let begun = Instant::now();
    let turn = async {
        for _ in 0..5_000 {
            view.show(Frame::Start);
            tokio::task::yield_now().await;
        }
        view.close(vec![Frame::Complete("done".to_owned(), None)])
            .await;
        assert_eq!(begun.elapsed(), CATCH_UP);
        go_on.send(()).expect("the sink waits");
    };
    let shown = projector.run(&mut sink, String::new(), String::new());
    let ((), all) = tokio::join!(turn, shown);
    assert!(all);
    let shown = kinds(&sink.0);
    let [.., (4_743.., "warning", said), (5_001, "complete", "")] = shown[..] else {
        panic!("{:?}", &shown[shown.len() - 3..]);
    };
    assert!(said.contains("frames are left out"), "{said}");
}
