//! Questions of handlers to their requesters that have no answer yet.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_proto::{
    a2a::{Message, Role},
    json::from_value,
};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{asking::run::is_question, connection::Lease};

/// Metadata of a message that is a handler's question.
const MARK: &str = "urn:agenthub:question";

/// The handlers of one agent that wait for an answer, by their task.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    handlers: HashMap<String, oneshot::Sender<Answer>>,
    /// The agent stops: nobody waits here any more.
    is_over: bool,
}

/// An answer, which is acknowledged with what follows from it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) message: Message,
    pub(crate) lease: Option<Lease>,
}

/// One question that is out; dropping it withdraws the handler, not the question.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    questions: Arc<Questions>,
    task_id: String,
    pub(crate) answer: oneshot::Receiver<Answer>,
}

impl Questions {
    /// Registers a handler; `None` if one of its task asks already. Of an agent that stops, none gets an answer.
    pub(crate) fn open(questions: &Arc<Self>, task_id: &str) -> Option<OpenQuestion> {
        let mut open = questions.lock();
        if open.handlers.contains_key(task_id) {
            return None;
        }
        let (sender, answer) = oneshot::channel();
        if !open.is_over {
            open.handlers.insert(task_id.to_owned(), sender);
        }
        Some(OpenQuestion {
            questions: Arc::clone(questions),
            task_id: task_id.to_owned(),
            answer,
        })
    }

    /// True if a handler of the task waits here.
    pub(super) fn has(&self, task_id: &str) -> bool {
        self.lock().handlers.contains_key(task_id)
    }

    /// Hands an answer to the handler that waits for it.
    ///
    /// # Errors
    ///
    /// The answer, if no handler waits here.
    pub(super) fn answer(&self, task_id: &str, answer: Answer) -> Result<(), Box<Answer>> {
        match self.lock().handlers.remove(task_id) {
            Some(handler) => handler.send(answer).map_err(Box::new),
            None => Err(Box::new(answer)),
        }
    }

    /// Lets go of all handlers: each is called again, here or elsewhere, when its answer comes.
    pub(super) fn let_go(&self) {
        let mut open = self.lock();
        open.is_over = true;
        open.handlers.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        // Closed first, so that the entry of a question that was asked next is not taken for this one's.
        self.answer.close();
        let handlers = &mut self.questions.lock().handlers;
        if handlers
            .get(&self.task_id)
            .is_some_and(oneshot::Sender::is_closed)
        {
            handlers.remove(&self.task_id);
        }
    }
}

/// Questions of one handling: those that were answered before it, and what the hub is told next.
#[derive(Debug, Default)]
pub(crate) struct Asked(Mutex<AskedState>);

#[derive(Debug, Default)]
struct AskedState {
    /// Questions so far.
    count: u32,
    /// Answers to the first questions, from an earlier handling of the same message.
    known: VecDeque<Message>,
    /// The delivery that is acknowledged with the next question or the end.
    lease: Option<Lease>,
}

impl Asked {
    /// The number of the next question, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.lock().count
    }

    /// The next question is out, or needs not be asked.
    pub(crate) fn count(&self) {
        self.lock().count += 1;
    }

    /// The answer to the next question, if it came before this handling.
    pub(crate) fn known(&self) -> Option<Message> {
        self.lock().known.pop_front()
    }

    pub(crate) fn know(&self, answers: impl IntoIterator<Item = Message>) {
        self.lock().known.extend(answers);
    }

    pub(crate) fn hold(&self, lease: Option<Lease>) {
        self.lock().lease = lease;
    }

    pub(crate) fn take_lease(&self) -> Option<Lease> {
        self.lock().lease.take()
    }

    fn lock(&self) -> MutexGuard<'_, AskedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question as a message: it says which message's handler asks, and how many questions came before.
pub(crate) fn mark(question: Message, handled: &str, number: u32) -> Message {
    question.with_metadata(MARK, json!({"of": handled, "number": number}))
}

/// The mark of a question, if the message is one.
fn marked(message: &Message) -> Option<(String, u32)> {
    let mark = message.metadata.as_ref()?.fields.get(MARK)?;
    let mark = from_value(mark);
    let number = mark["number"].as_f64()?;
    // Small and whole, as it was written.
    Some((mark["of"].as_str()?.to_owned(), number as u32))
}

/// The question that a message answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answered {
    /// One of a handler, which is called again.
    Handling(Box<Resumed>),
    /// One of a run, which finds the answer itself.
    Run,
    /// None of this agent's.
    Nothing,
}

/// A handling that goes on with an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resumed {
    /// The message whose handler asked.
    pub(super) handled: Message,
    /// The answers to its questions so far, this one last.
    pub(super) answers: Vec<Message>,
}

/// Finds the question that a message answers, in the task's history.
pub(super) fn answered(history: &[Message], answer: &Message) -> Answered {
    let at = history.iter().rposition(|m| is_same(m, answer));
    let before = &history[..at.unwrap_or(history.len())];
    let asked = before.iter().rfind(|m| m.role() == Role::Agent);
    if asked.is_some_and(is_question) {
        return Answered::Run;
    }
    resumed(history, answer).map_or(Answered::Nothing, |resumed| {
        Answered::Handling(Box::new(resumed))
    })
}

/// Finds the handling whose question a message answers, in the task's history. `None` if what the agent said last before it was a result.
///
/// Message ids are the requester's, who may use one twice: places in the history say which is meant.
fn resumed(history: &[Message], answer: &Message) -> Option<Resumed> {
    let at = history.iter().rposition(|m| is_same(m, answer));
    let mut before = &history[..at.unwrap_or(history.len())];
    let mut answers = VecDeque::from([answer.clone()]);
    let asked = before.iter().rposition(|m| m.role() == Role::Agent)?;
    let (handled, mut number) = marked(&before[asked])?;
    before = &before[..asked];
    while number > 0 {
        number -= 1;
        let question = Some((handled.clone(), number));
        let is_question = |m: &Message| m.role() == Role::Agent && marked(m) == question;
        let asked = before.iter().rposition(is_question)?;
        let answer = before[asked..].iter().find(|m| m.role() != Role::Agent)?;
        answers.push_front(answer.clone());
        before = &before[..asked];
    }
    let is_handled = |m: &&Message| m.role() != Role::Agent && m.message_id == handled;
    Some(Resumed {
        handled: before.iter().rfind(is_handled)?.clone(),
        answers: answers.into(),
    })
}

/// True if a message of a task's history is this one, as it was delivered.
pub(super) fn is_same(one: &Message, other: &Message) -> bool {
    one.message_id == other.message_id && one.role == other.role && one.content == other.content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, id: &str, text: &str) -> Message {
        Message {
            message_id: id.to_owned(),
            ..Message::new(role, text)
        }
    }

    fn user(id: &str) -> Message {
        said(Role::User, id, id)
    }

    fn question(handled: &str, number: u32) -> Message {
        mark(said(Role::Agent, "q", "which?"), handled, number)
    }

    /// The handled message and the answers that are known with the last message of a history.
    fn check(history: &[Message], expect: Option<(&str, &[&str])>) {
        let answer = history.last().expect("an answer");
        let found = resumed(history, answer).map(|resumed| {
            let answers = resumed.answers.into_iter().map(|m| m.message_id);
            (resumed.handled.message_id, answers.collect::<Vec<_>>())
        });
        let expect = expect.map(|(handled, answers)| {
            let answers = answers.iter().map(|id| (*id).to_owned()).collect();
            (handled.to_owned(), answers)
        });
        assert_eq!(found, expect);
    }

    #[test]
    fn an_answer_is_that_of_the_handling_that_asked() {
        let (q0, q1) = (question("m", 0), question("m", 1));
        check(&[user("m"), q0.clone(), user("a")], Some(("m", &["a"])));
        check(
            &[user("m"), q0.clone(), user("a"), q1.clone(), user("b")],
            Some(("m", &["a", "b"])),
        );
        // What was said beside it is no answer: the first after the question is.
        check(
            &[
                user("m"),
                user("x"),
                q0.clone(),
                user("a"),
                user("y"),
                q1,
                user("b"),
            ],
            Some(("m", &["a", "b"])),
        );
        let other = said(Role::Agent, "its result", "which?");
        check(&[user("m"), other.clone(), user("a")], None);
        check(&[user("m"), q0, user("a"), other, user("b")], None);
        check(&[user("m")], None);
    }

    #[test]
    fn questions_of_a_later_message_are_its_own() {
        let history = [
            user("m"),
            question("m", 0),
            user("a"),
            question("a", 0),
            user("b"),
        ];
        check(&history, Some(("a", &["b"])));
    }

    #[test]
    fn a_requester_may_use_one_id_for_all_its_messages() {
        let [first, second, third] = ["1", "2", "3"].map(|text| said(Role::User, "m", text));
        let history = [
            first.clone(),
            question("m", 0),
            second.clone(),
            question("m", 1),
            third.clone(),
        ];
        let found = resumed(&history, &third).expect("it is an answer");
        assert_eq!((found.handled, found.answers), (first, vec![second, third]));
    }

    #[tokio::test]
    async fn an_answer_reaches_the_handler_that_waits_and_no_other() {
        let questions = Arc::new(Questions::default());
        let answer = |id: &str| Answer {
            message: user(id),
            lease: None,
        };
        assert!(questions.answer("t", answer("early")).is_err());
        let mut open = Questions::open(&questions, "t").expect("the first");
        assert!(Questions::open(&questions, "t").is_none(), "one at a time");
        assert!(questions.answer("t", answer("a")).is_ok());
        let got = (&mut open.answer).await.expect("an answer");
        assert_eq!(got.message.message_id, "a");
        drop(open);

        let dropped = Questions::open(&questions, "t").expect("the last is over");
        drop(dropped);
        assert!(!questions.has("t"));
        let mut open = Questions::open(&questions, "t").expect("it is free");
        questions.let_go();
        assert!((&mut open.answer).await.is_err());
        let mut late = Questions::open(&questions, "u").expect("it is free");
        assert!((&mut late.answer).await.is_err(), "the agent stops");
    }
}
