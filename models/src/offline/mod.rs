//! A stand-in that needs no network, no key and no model.
//!
//! It understands the four conventions of those who ask it.
//!
//! - **Decisions.** A request for JSON named `decision` holds the agents that may be chosen as the data `agents`, the user's
//!   words as the last user message with text, and after them, once delegated tasks have ended, the data `results`. The
//!   decision delegates to the agent whose card shares most words with the request, or to every agent that the request names;
//!   with results it tells them. Who is addressed ("ask NAME to …") and is no agent is named, and the request counts as done in part.
//! - **Tools.** A request for words that offers tools is answered with calls of the tools that the words name, else of those
//!   that they match, with arguments made of the words; with results it tells them.
//! - **Procedures.** Where the instructions of such a request have numbered steps under a heading with the word steps, procedure,
//!   process or workflow, and the steps name offered tools or the agents behind them, the steps are done in their order.
//!   - A step calls those that it addresses ("ask `x`", "with `x`", "give … to `x`", "`x` and `y`"), all at once; where it addresses
//!     none, those that it names and no step before has called. Sentences with MUST NOT, do not or never call nobody.
//!   - The task of a call is the step's words and the user's. An input called `topic`, `question` or the like gets what the request is
//!     about; other texts get the result of a step before whose agent their name or description mentions, else, if they are
//!     required, the last result. An agent with no such input gets the last result in its task. Of paths to choose from, those are read
//!     that share words with the request.
//!   - A step that begins with "If" and quotes a word is left out where the last results don't say that word.
//!   - A last step that begins with "Answer", "Reply" or the like names whose result is the answer. Without one it is the last
//!     result that is no review. Behind it stands in short what others said that the last step names, or who came later, and who failed.
//!   - An order that shares no word with the instructions or the tools is for nobody; of a question or a topic that shares none, the
//!     answer says that it may not have been meant for them, and counts as a part.
//!   - Whoever asks who it is, greets, or has numbers added ("7 times 6") gets an answer without any call. Where the words address nobody
//!     that there is ("ask ghost to …"), the answer says so with the names that there are, and nobody is called. Whoever addresses one tool ("ask the critic to …")
//!     gets that one alone.
//! - **Proposals.** A request for JSON named `orchestration` holds what agents offer, a plan and how far it is. The next proposal
//!   follows from what the capabilities' schemas take and give.
//!
//! A request for words without tools is answered with what came with it: the texts among its data, the paragraphs of the words
//! behind the first, or what stands behind the colon of an instruction ("check this: …"), under what it is about; a task to check or review an input such as `draft`, with what can be counted in it. A
//! line in parentheses says who made that. What is made of the words alone counts as a part. Greetings and sums are answered. Without a match it says what it is and whom or what it can reach.
//! Of an agent that has instructions in words, no answer counts as whole. The same request gets the same answer.

mod addressed;
mod agents_here;
mod arguments;
mod attached;
mod choosing;
mod counting;
mod decision;
mod fitting;
mod handed;
mod handing_on;
mod known;
mod layout;
mod naming;
mod notes;
mod orchestration;
mod outright;
mod passages;
mod procedure;
mod stated;
mod steps;
mod sums;
mod told;
mod tools;
mod turn;
mod words;

pub use layout::text_to_check;
pub use notes::without_notes;
pub use outright::stated_input;
pub use procedure::steps_that_name_none;

use async_trait::async_trait;

use super::{
    Completion, DeltaSink, LanguageModel, ModelError, Output, Request, ToolCall, Undone, stand_in,
};

/// Agents or tools that are told about at most.
const MAX_LISTED: usize = 20;

/// The name of what stands in where there is no model.
pub const STAND_IN: &str = "offline";

/// Said with the answer of an agent whose instructions are free words.
const UNREAD: &str = "(No language model read the instructions of this agent.)";

/// Answers by matching words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl LanguageModel for Offline {
    fn name(&self) -> &str {
        STAND_IN
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        let (text, tool_calls, undone) = match answer(&request)? {
            Answer::Text(text, undone) => (text, Vec::new(), undone),
            Answer::Calls(calls) => (String::new(), calls, None),
        };
        stand_in::stream(&text, &deltas).await;
        let usage = Some(stand_in::usage(&request, &text, &tool_calls));
        Ok(Completion {
            text,
            tool_calls,
            usage,
            undone,
            lacks: Vec::new(),
        })
    }
}

/// The next words or calls.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    /// Words, and how much of the request they say to be undone.
    Text(String, Option<Undone>),
    Calls(Vec<ToolCall>),
}

impl Answer {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into(), None)
    }

    fn undone(text: impl Into<String>) -> Self {
        Self::Text(text.into(), Some(Undone::All))
    }

    /// The same of an agent that may have instructions, which nobody has read: an answer counts as a part then, and says so.
    fn beside_instructions_of(self, request: &Request) -> Self {
        let is_instructed = request.asker.as_ref().is_some_and(|by| by.is_instructed);
        match self {
            Self::Text(text, undone) if is_instructed && undone != Some(Undone::All) => {
                Self::Text(format!("{text}\n\n{UNREAD}"), Some(Undone::Part))
            }
            other => other,
        }
    }
}

fn answer(request: &Request) -> Result<Answer, ModelError> {
    let said = || request.last_user_text().unwrap_or_default();
    match &request.output {
        Output::Text if tools::are_used(request) => Ok(tools::answer(request)),
        Output::Text => Ok(layout::answer(request)
            .unwrap_or_else(|| without_tools(&said()).beside_instructions_of(request))),
        Output::Json { name, .. } if name == "decision" => {
            let (decision, undone) = decision::decide(request, &said());
            Ok(Answer::Text(decision.to_string(), undone))
        }
        Output::Json { name, .. } if name == "orchestration" => Ok(Answer::text(
            orchestration::propose(request, &said()).to_string(),
        )),
        Output::Json { name, .. } => Err(ModelError::Refused(format!(
            "the offline stand-in only matches words and cannot make a {name}; to {HOW_TO_CONFIGURE}"
        ))),
    }
}

/// The answer to words with which nothing came, of one who has no tools.
fn without_tools(said: &str) -> Answer {
    const WHO: &str = "I am an offline stand-in, not a language model";
    if let Some((counted, undone)) = sums::answer(said) {
        return Answer::Text(counted, undone);
    }
    match words::asks_who_it_is(said) {
        true => Answer::text(format!("{WHO}, and have no tools. {}", how_to_configure())),
        false => Answer::undone(format!(
            "{WHO}, and have no tool for this, so nothing was done. You said: {}",
            words::cut(said)
        )),
    }
}

const HOW_TO_CONFIGURE: &str = "use a real model, set AGENTHUB_MODEL to provider/model, for example openai/gpt-5 with \
    OPENAI_API_KEY, vertex/gemini-2.5-flash with GCP_PROJECT, or ollama/llama3.2";

fn how_to_configure() -> String {
    format!("To {HOW_TO_CONFIGURE}.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{PromptMessage, ToolSpec, deltas};

    #[test]
    fn other_json_is_declined_with_the_way_out() {
        let plan = Request::new(vec![PromptMessage::user("plan")]).json("plan", json!({}));
        let error = answer(&plan).expect_err("a stand-in makes no plans");
        assert!(
            matches!(&error, ModelError::Refused(why) if why.contains("AGENTHUB_MODEL")),
            "{error}"
        );
    }

    #[tokio::test]
    async fn the_answer_is_streamed_in_pieces_and_its_cost_estimated() {
        let (sink, mut reader) = deltas();
        let asked =
            Request::new(vec![PromptMessage::user("who are you?")]).json("decision", json!({}));
        let completion = tokio::spawn(Offline.complete(asked, sink));
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next().await {
            pieces.push(piece);
        }
        let completion = completion.await.expect("no panic").expect("an answer");
        assert!(pieces.len() > 3, "{pieces:?}");
        assert_eq!(pieces.concat(), completion.text);
        let usage = completion.usage.expect("usage is estimated");
        assert!(
            usage.output_tokens > usage.input_tokens && usage.input_tokens > 0,
            "{usage:?}"
        );
    }

    #[test]
    fn what_it_has_no_tool_for_is_said_to_be_undone() {
        let asked = Request::new(vec![PromptMessage::user("print it")]);
        let Ok(Answer::Text(said, Some(Undone::All))) = answer(&asked) else {
            panic!("it has nothing to call");
        };
        assert!(said.contains("nothing was done"), "{said}");
    }

    /// spec: SOP-10.3
    #[test]
    fn greetings_and_sums_are_answered_without_tools() {
        for (words, part) in [
            ("hello", "have no tools"),
            ("what can you do?", "have no tools"),
            ("7 times 6", "is 42"),
        ] {
            let asked = Request::new(vec![PromptMessage::user(words)]);
            let Ok(Answer::Text(said, None)) = answer(&asked) else {
                panic!("it needs nobody: {words}");
            };
            assert!(said.contains(part), "{said}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn an_answer_of_an_agent_whose_instructions_nobody_read_is_a_part() {
        let told = |words: &str, is_instructed| {
            let mut asked = Request::new(vec![PromptMessage::user(words)]);
            let id = "till".to_owned();
            asked.asker = Some(crate::Asker { id, is_instructed });
            answer(&asked)
        };
        for words in ["hello", "7 times 6"] {
            let Ok(Answer::Text(said, Some(Undone::Part))) = told(words, true) else {
                panic!("a part: {words}");
            };
            assert!(said.ends_with(UNREAD), "{said}");
            assert!(matches!(told(words, false), Ok(Answer::Text(_, None))));
        }
        let nothing = told("print it", true);
        assert!(matches!(nothing, Ok(Answer::Text(_, Some(Undone::All)))));
    }

    #[tokio::test]
    async fn calls_cost_something_as_well() {
        let mut asked = Request::new(vec![PromptMessage::user("use echo")]);
        asked.tools = vec![ToolSpec {
            name: "echo".into(),
            description: "Echoes".into(),
            parameters: json!({"type": "object"}),
            agent: None,
        }];
        let completion = Offline
            .complete(asked, DeltaSink::ignored())
            .await
            .expect("an answer");
        assert_eq!(completion.text, "");
        assert_eq!(completion.tool_calls.len(), 1);
        assert!(
            completion
                .usage
                .is_some_and(|usage| usage.output_tokens > 0)
        );
    }
}
