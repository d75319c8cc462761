use std::time::Duration;

use agenthub_sdk::runs::journal::{Claim, MemoryJournal};

use super::{super::story::Story, *};

/// A journal with these runs.
async fn journal(runs: &[(&str, &Story)]) -> Arc<dyn Journal> {
    let journal = MemoryJournal::default();
    for (run, story) in runs {
        let claim = Claim {
            driver: "d",
            lease: Duration::from_secs(1),
        };
        let run = RunId::new(*run);
        let (first, rest) = story.events.split_first().expect("it has begun");
        let opened = journal
            .open(&run, "o", claim, std::slice::from_ref(first))
            .await;
        let epoch = opened.expect("nobody else has it").epoch;
        journal
            .append(&run, epoch, 1, rest)
            .await
            .expect("it is ours");
    }
    Arc::new(journal)
}

fn journals(all: &[(&str, Arc<dyn Journal>)]) -> Journals {
    let all = all
        .iter()
        .map(|(name, journal)| ((*name).to_owned(), journal.clone()));
    Journals::new(all.collect())
}

fn leading() -> Story {
    Story::new(&["You MUST ask the critic."])
        .calls(&[("critic", "Look"), ("researcher", "Find")])
        .answers("x")
}

/// The critic's run that the leading one led to.
fn led_to() -> String {
    Agent::run_of("critic", "task-1-1", "message-1-1").to_string()
}

/// A story that begins so many milliseconds later.
fn later(mut story: Story, by: u64) -> Story {
    if let Some(RunEvent::Started(started)) = story.events.first_mut() {
        started.at_ms += by;
    }
    story
}

#[tokio::test]
async fn a_run_is_found_by_the_beginning_of_its_id() {
    let story = leading();
    let one = journal(&[("abc1", &story), ("abd2", &story)]).await;
    let two = journal(&[("xyz", &story), ("abc", &story)]).await;
    let journals = journals(&[("one", one), ("two", two)]);
    for (wanted, run) in [
        ("abd", "abd2"),
        ("x", "xyz"),
        (" xyz ", "xyz"),
        ("abc", "abc"),
        ("abc1", "abc1"),
    ] {
        let found = journals.find(wanted).await.expect(wanted);
        assert_eq!((found.run.as_str(), &found.events), (run, &story.events));
    }
    for (wanted, told) in [
        ("ab", "3 runs begin with ab: "),
        ("nope", "there is no run nope; the latest are: "),
        ("", "there is no run ; the latest are: "),
    ] {
        let error = journals.find(wanted).await.expect_err(wanted).to_string();
        assert!(error.starts_with(told), "{error}");
    }
    let nothing = super::super::Journals::new(BTreeMap::new());
    assert!(matches!(nothing.find("x").await, Err(FindError::Empty)));
    assert!(matches!(
        nothing.find("latest").await,
        Err(FindError::Empty)
    ));
}

#[tokio::test]
async fn the_latest_is_the_latest_request_to_an_sop() {
    let (led, old) = (leading(), leading());
    let led = later(led, 0);
    let critic = later(Story::new(&["You MUST be kind."]).answers("y"), 1_000);
    let other = later(Story::about(serde_json::Value::Null).answers("z"), 9_000);
    let editors = journal(&[("editor-0", &later(old, 0)), ("editor-1", &led)]).await;
    let critics = journal(&[(&led_to(), &critic)]).await;
    let others = journal(&[("other", &other)]).await;
    let all = journals(&[("a", others.clone()), ("b", critics), ("c", editors)]);
    let latest = all.find("latest").await.expect("there are some");
    assert_eq!(latest.run.as_str(), "editor-1");
    let none = journals(&[("a", others)]);
    assert!(matches!(none.find("latest").await, Err(FindError::NoSop)));
}

#[tokio::test]
async fn the_runs_that_a_run_led_to_go_with_it() {
    let critic = Story::new(&["You MUST be kind."]).answers("y");
    let editors = journal(&[("editor-1", &leading())]).await;
    let critics = journal(&[(&led_to(), &critic)]).await;
    let all = journals(&[("critic", critics), ("editor", editors)]);
    let first = all.find("editor-1").await.expect("it is there");
    let (found, absent) = all.with_asked(first).await.expect("they can be read");
    let found: Vec<&str> = found.iter().map(|found| found.run.as_str()).collect();
    assert_eq!(found, ["editor-1", &led_to()]);
    assert_eq!(absent, ["researcher"]);
}
