//! Form of a review: the question to a model, and the output made of its answer.

use agenthub_sdk::{
    Form,
    model::{Output, Request, offline::text_to_check},
};
use serde_json::Value;

use super::{judge, payload::Payload, report, review::Review};
use crate::offline::Answer;

/// The label of what a model is asked.
const QUESTIONS: &str = "questions";

/// The label of what code found.
const MEASURED: &str = "measured";

/// Asks for verdicts on what code cannot measure, and gives the whole review.
#[derive(Debug)]
pub(super) struct Verdicts;

impl Form for Verdicts {
    fn schema(&self) -> Value {
        judge::schema()
    }

    fn material(&self, input: &Value) -> Vec<(String, Value)> {
        // What is wrong with the payload is said when the answer comes.
        let review = Payload::read(input).map(Review::new);
        let material = review.map(|review| {
            let labels = [MEASURED, QUESTIONS].map(str::to_owned);
            labels
                .into_iter()
                .zip([review.measured(), review.questions()])
                .collect()
        });
        material.unwrap_or_default()
    }

    fn accept(&self, input: &Value, answer: Value) -> Result<Value, String> {
        let mut review = Review::new(Payload::read(input)?);
        review.judge(answer)?;
        Ok(review.output())
    }

    fn told(&self, output: &Value) -> String {
        report::told(output)
    }
}

/// The answer where there is no model: no opinion on what code cannot measure, and a review in words of a text alone.
pub(super) fn computed(request: &Request) -> Answer {
    if let Output::Json { .. } = request.output {
        let questions = request.data(QUESTIONS).unwrap_or(&Value::Null);
        return Answer::Computed(judge::no_opinion(questions).to_string(), Vec::new());
    }
    let said = request.last_user_text().unwrap_or_default();
    // The words that ask for the review are no part of the draft.
    let text = text_to_check(&said).unwrap_or(&said);
    let review = Review::new(Payload::of_text(text));
    let review = report::told(&review.output());
    Answer::Computed(format!("{}\n{review}", report::taken(text)), Vec::new())
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::model::PromptMessage;

    use super::*;

    #[test]
    fn the_words_that_ask_for_a_review_are_no_part_of_the_draft() {
        let said = "ask qa to check this: Our shop opens on Monday.";
        let Answer::Computed(told, _) = computed(&Request::new(vec![PromptMessage::user(said)]))
        else {
            panic!("nobody judged it");
        };
        let taken = "The words of the request are the draft here: \"Our shop opens on Monday.\"";
        assert!(told.starts_with(taken), "{told}");
    }
}
