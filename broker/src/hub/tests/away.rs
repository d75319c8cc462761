//! Agents that are offline for long.

use super::*;
use crate::steps;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Duration until a round has checked all.
const ROUND: Duration = Duration::from_secs(600);

fn bench(days: u32) -> Bench {
    Bench::new(Settings {
        away_agents: DAY * days,
        ..Settings::default()
    })
}

fn register(b: &mut Bench, name: &str) {
    assert_eq!(registered(b, name), Ok(true));
}

/// Registers the same card again.
fn register_again(b: &mut Bench, name: &str) {
    assert_eq!(registered(b, name), Ok(false));
}

fn registered(b: &mut Bench, name: &str) -> Result<bool, Error> {
    let registration = Registration {
        card: AgentCard {
            name: name.into(),
            ..Default::default()
        },
        topics: Vec::new(),
        health_check_url: String::new(),
    };
    b.core
        .register(&Caller::anonymous(), registration, None, b.now)
}

fn pass(b: &mut Bench, time: Duration) {
    b.wait(time);
    b.wait(ROUND);
    b.wait(Duration::from_secs(1));
}

fn agents(core: &Core) -> Vec<&str> {
    core.state.registry.iter().map(|(id, _)| &**id).collect()
}

/// promise 10
#[test]
fn an_agent_that_is_away_for_long_leaves_the_directory() {
    let mut b = bench(30);
    for name in ["away", "here", "late"] {
        register(&mut b, name);
    }
    let [away, _here] = ["away", "here"].map(|a| b.connect(a, "i", durable("work")));
    b.close(away.id, true);
    pass(&mut b, Duration::ZERO);
    pass(&mut b, 29 * DAY);
    b.work("t", "asker", "away").expect("good");
    let late = b.connect("late", "i", durable("work"));
    pass(&mut b, Duration::ZERO);
    b.close(late.id, true);
    assert_eq!(agents(&b.core), ["away", "here", "late"]);
    pass(&mut b, 2 * DAY);
    assert_eq!(agents(&b.core), ["here", "late"]);
    assert_eq!(b.state("t"), TaskState::Failed);
    let dead_letters = b.core.state.dead_letters.iter();
    assert_eq!(dead_letters.count(), 2, "the message, and the task's event");
    assert_eq!(b.core.state.mailboxes.len(), 2);

    let mut folded = State::new(&b.core.settings);
    for record in b.records.lock().expect("one thread").iter() {
        folded.replay(record, Duration::ZERO, b.now.instant);
    }
    assert_eq!(folded.registry, b.core.state.registry);
}

/// promise 10
#[test]
fn an_agent_that_was_there_between_two_rounds_stays() {
    let mut b = bench(30);
    register(&mut b, "cron");
    pass(&mut b, Duration::ZERO);
    for _ in 0..3 {
        pass(&mut b, 25 * DAY);
        let there = b.connect("cron", "i", durable("work"));
        b.close(there.id, true);
    }
    for _ in 0..2 {
        pass(&mut b, 25 * DAY);
        register_again(&mut b, "cron");
    }
    pass(&mut b, 25 * DAY);
    assert_eq!(agents(&b.core), ["cron"], "its card came again");
    pass(&mut b, 7 * DAY);
    assert_eq!(agents(&b.core), [""; 0]);
}

/// promise 10
#[test]
fn an_agent_of_which_only_its_card_is_known_leaves_it_too() {
    let mut b = bench(1);
    register(&mut b, "card");
    pass(&mut b, Duration::ZERO);
    pass(&mut b, DAY);
    assert_eq!(agents(&b.core), ["card"], "to within a day");
    pass(&mut b, DAY);
    assert_eq!(agents(&b.core), [""; 0]);
}

#[test]
fn agents_that_are_away_are_looked_for_a_few_at_a_time() {
    const AGENTS: usize = 600;
    let mut b = bench(30);
    for n in 0..AGENTS {
        register(&mut b, &format!("agent{n}"));
    }
    b.wait(Duration::from_millis(50));
    b.wait(Duration::from_secs(599));
    let looks = [(); 5].map(|()| steps::count(|| b.wait(Duration::from_secs(1))).0);
    assert_eq!(looks, [256, 256, 88, 0, 0]);
}
