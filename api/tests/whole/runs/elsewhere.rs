//! Tools of other agents that a person has to allow.

use std::{
    slice,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use agenthub_sdk::{
    Tool,
    model::{Completion, ToolCall},
    runs::{
        self, Budget, StepId, StepRequest,
        journal::{Filter, ListedRun},
    },
};

use tokio::sync::Notify;

use super::{steering::next_approval, *};

/// A model that sends two mails, then says what came of it.
fn sending() -> Scripted {
    let call = |number: u8, to: &str| ToolCall {
        id: format!("call_{number}"),
        name: "send".to_owned(),
        arguments: json!({"to": to}),
    };
    Scripted::answers([
        Ok(Completion {
            tool_calls: vec![call(1, "ann"), call(2, "everybody")],
            ..Completion::default()
        }),
        Ok(Completion {
            text: "sent what may be sent".to_owned(),
            ..Completion::default()
        }),
    ])
}

#[tokio::test]
async fn a_person_allows_a_tool_of_another_agent_once() {
    let journal: Arc<dyn Journal> = Arc::new(Kept::default());
    let others = BTreeMap::from([("mailer".to_owned(), Arc::clone(&journal))]);
    let world = World::with(Scripted::from_fn(delegating), |settings| {
        settings.others = Some(Arc::new(others));
    })
    .await;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    let send = Tool::new("send", "Sends mail", schema, move |_, _: Value| {
        count.fetch_add(1, Ordering::SeqCst);
        async { "sent" }
    });
    let card = Card::new("mailer", "Sends mail").skill(Skill::new("work", "Work", "Sends"));
    let agent = Agent::worker(card)
        .model(sending())
        .journal(journal)
        .tool(send.approval());
    let _agent = world.agent(agent).await;
    let mut client = serve(&world.cortex).await;
    let mut approvals = client
        .watch_approvals(WatchApprovalsRequest { follow: true })
        .await
        .expect("it is served")
        .into_inner();
    let ann = world.user("ann").await;
    let asked = ann
        .client
        .delegate(Delegation::to("mailer").text("go"))
        .await;
    let asked = asked.expect("the hub takes it");

    let mut questions = [
        next_approval(&mut approvals).await,
        next_approval(&mut approvals).await,
    ];
    questions.sort_by_key(|question| question.step.clone());
    let shown = |question: &Approval| {
        let arguments = question.arguments.as_ref().map(json::from_value);
        (
            question.agent.clone(),
            question.capability.clone(),
            arguments,
        )
    };
    let send = |to: &str| Some(json!({ "to": to }));
    let mailer = || ("mailer".to_owned(), "send".to_owned());
    assert_eq!(shown(&questions[0]), (mailer().0, mailer().1, send("ann")));
    assert_eq!(shown(&questions[1]).2, send("everybody"));
    let run = questions[0].run_id.clone();
    assert_eq!(get(&mut client, &run).await.state, "awaiting-approval");
    let mut waiting = client
        .watch_approvals(WatchApprovalsRequest { follow: false })
        .await
        .expect("it is served")
        .into_inner();
    next_approval(&mut waiting).await;
    next_approval(&mut waiting).await;
    assert_eq!(within(waiting.message()).await.expect("its end"), None);
    assert_eq!(sent.load(Ordering::SeqCst), 0);

    let decide = |question: &Approval, approved: bool| DecideApprovalRequest {
        run_id: run.clone(),
        approval_id: question.id.clone(),
        approved,
        by: "bob".to_owned(),
        comment: String::new(),
    };
    let refused = within(client.decide_approval(decide(&questions[1], false))).await;
    let left = refused.expect("it waits").into_inner().approvals;
    assert_eq!(left.len(), 1);
    let again = client.decide_approval(decide(&questions[1], true)).await;
    let again = again.expect_err("it is answered");
    assert_eq!(again.code(), Code::FailedPrecondition);
    let allowed = within(client.decide_approval(decide(&questions[0], true))).await;
    assert_eq!(allowed.expect("it waits").into_inner().approvals, []);

    let outcome = within(asked.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "sent what may be sent");
    assert_eq!(sent.load(Ordering::SeqCst), 1, "only what was allowed");
    world.end().await;
}

/// More runs at work than are looked at for one page of a list.
#[tokio::test]
async fn an_approval_of_a_run_behind_many_that_began_after_it_is_found() {
    const LATER: usize = 2_001;
    let journal = MemoryJournal::default();
    let claim = Claim {
        driver: "d",
        lease: Duration::from_secs(60),
    };
    let first = started("tool_loop", Value::Null);
    let question = runs::Approval::new("run-0", "send", "mailer", "send", json!({"to": "ann"}));
    let asked = RunEvent::StepBegun {
        step: StepId::new("send"),
        attempt: 1,
        what: StepRequest::ApprovalAsked(question.clone()),
        grant: Budget::default(),
        deadline_ms: None,
        at_ms: 1,
    };
    for number in 0..=LATER {
        let run = RunId::new(format!("run-{number}"));
        let opened = journal
            .open(&run, "mailer", claim, std::slice::from_ref(&first))
            .await;
        let epoch = opened.expect("it is new").epoch;
        if number == 0 {
            let written = journal
                .append(&run, epoch, 1, slice::from_ref(&asked))
                .await;
            written.expect("it is this driver's");
        }
    }
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let world = World::with(Scripted::from_fn(delegating), |settings| {
        settings.others = Some(Arc::new(BTreeMap::from([("mailer".to_owned(), journal)])));
    })
    .await;
    let mut client = serve(&world.cortex).await;
    let request = WatchApprovalsRequest { follow: false };
    let listed = client.watch_approvals(request).await;
    let mut listed = listed.expect("it is served").into_inner();
    let found = within(listed.message()).await.expect("its end");
    assert_eq!(found.map(|approval| approval.id), Some(question.id));
    world.end().await;
}

/// A journal that counts how often it is listed.
#[derive(Debug, Default)]
struct Counted {
    journal: MemoryJournal,
    lists: AtomicUsize,
    listed: Notify,
}

impl Counted {
    fn lists(&self) -> usize {
        self.lists.load(Ordering::SeqCst)
    }

    async fn reach(&self, lists: usize) {
        while self.lists() < lists {
            self.listed.notified().await;
        }
    }
}

#[tonic::async_trait]
impl JournalDecorator for Counted {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.listed.notify_one();
        self.journal.list(filter).await
    }
}

#[tokio::test]
async fn many_watchers_of_approvals_look_once_a_second_together() {
    const WATCHERS: usize = 8;
    let journal = Arc::new(Counted::default());
    let shared: Arc<dyn Journal> = journal.clone();
    let others = BTreeMap::from([("mailer".to_owned(), shared)]);
    let world = World::with(Scripted::from_fn(delegating), |settings| {
        settings.others = Some(Arc::new(others));
    })
    .await;
    let mut client = serve(&world.cortex).await;
    let mut listed = client
        .watch_approvals(WatchApprovalsRequest { follow: false })
        .await
        .expect("it is served")
        .into_inner();
    assert_eq!(within(listed.message()).await.expect("its end"), None);
    let a_look = journal.lists();
    assert!(a_look > 0, "what is listed is read");

    let (before, began) = (journal.lists(), Instant::now());
    let mut watching = Vec::new();
    for _ in 0..WATCHERS {
        let request = WatchApprovalsRequest { follow: true };
        let stream = client.watch_approvals(request).await;
        let mut stream = stream.expect("it is served").into_inner();
        watching.push(tokio::spawn(async move { stream.message().await }));
    }
    // Each of them may look when it begins; then there is one look a second.
    within(journal.reach(before + (WATCHERS + 4) * a_look)).await;
    let took = began.elapsed();
    assert!(
        took >= Duration::from_secs(3),
        "{WATCHERS} watchers looked again 4 times in {took:?}"
    );
    for task in watching {
        task.abort();
    }
    world.end().await;
}
