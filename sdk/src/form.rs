//! Answers that are data: what a model is asked for, and whether what it gave can be used.

use std::{collections::BTreeMap, fmt, sync::Arc};

use agenthub_proto::a2a::AgentCard;
use agenthub_runs::tool_loop::{self, Verdict};
use jsonschema::Validator;
use serde_json::Value;

use crate::{Contract, contracts, schema, takes::Takes};

/// The data that a skill answers with. The model is asked for JSON; an answer that cannot be used is asked for again with the reason,
/// at most twice. A method that decides decides the same whenever it is asked: it may be asked again after a crash.
pub trait Form: fmt::Debug + Send + Sync {
    /// The form of the answer: a JSON Schema 2020-12 of an object, without references to other documents.
    fn schema(&self) -> Value;

    /// The request's data as the model is shown it; all of it if not said otherwise. Tools still have all.
    fn shown(&self, input: Value) -> Value {
        input
    }

    /// Texts that the model is shown besides the request, each under a label.
    fn material(&self, _input: &Value) -> Vec<(String, Value)> {
        Vec::new()
    }

    /// Checks an answer that fits the schema, and may change it. `input` is the data of the request.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be used, in words for the model.
    fn accept(&self, _input: &Value, answer: Value) -> Result<Value, String> {
        Ok(answer)
    }

    /// The same in words for people.
    fn told(&self, output: &Value) -> String;

    /// Place in the answer of the text that is shown while it grows, as a JSON Pointer through objects. Without one nothing is.
    fn growing(&self) -> Option<&str> {
        None
    }
}

/// The forms of an agent's skills, by skill id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms(Arc<BTreeMap<String, Filled>>);

/// A form with the schemas that go with it.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) form: Arc<dyn Form>,
    asked: tool_loop::AnswerForm,
    answer: Validator,
    input: Option<Takes>,
}

impl Forms {
    /// Checks the forms against the card.
    ///
    /// # Errors
    ///
    /// The form that cannot be used, why, and what to do about it.
    pub(crate) fn new(
        card: &AgentCard,
        forms: Vec<(String, Arc<dyn Form>)>,
    ) -> Result<Self, String> {
        let contracts = contracts(card);
        let mut filled = BTreeMap::new();
        for (skill, form) in forms {
            let Some(contract) = contracts.get(&skill) else {
                return Err(format!(
                    "there is a form for the skill {skill:?}, which its card does not have: add the skill"
                ));
            };
            let made = Filled::new(&skill, form, contract).map_err(|error| {
                format!("the form of the skill {skill:?} cannot be used: {error}")
            })?;
            if filled.insert(skill.clone(), made).is_some() {
                return Err(format!("there are two forms for the skill {skill:?}"));
            }
        }
        Ok(Self(Arc::new(filled)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The form that a request is to be answered with, and the request's data with defaults: that of the skill, given by id or name, where
    /// the request comes with data for it. A request without a task type is for the only skill that has anything of its data. Otherwise
    /// somebody just talks.
    ///
    /// # Errors
    ///
    /// The fault of the data.
    pub(crate) fn wanted(
        &self,
        card: &AgentCard,
        task_type: &str,
        input: Option<Value>,
    ) -> Result<Option<(&Filled, Value)>, String> {
        let Some(input) = input else {
            return Ok(None);
        };
        let meant = match task_type.is_empty() {
            true => self.only_one_for(&input),
            false => self.named(card, task_type),
        };
        let Some((skill, filled)) = meant.filter(|(_, filled)| filled.is_for(&input)) else {
            return Ok(None);
        };
        let named = if task_type.is_empty() {
            skill
        } else {
            task_type
        };
        match &filled.input {
            None => Ok(Some((filled, input))),
            Some(takes) => Ok(Some((filled, takes.filled(named, input)?))),
        }
    }

    /// The skill that takes this data, where it is one alone: it has all that the skill requires. Where none does, the only one that has
    /// anything of the data.
    fn only_one_for(&self, input: &Value) -> Option<(&str, &Filled)> {
        let all = self.0.iter().map(|(id, filled)| (&**id, filled));
        let (fitting, akin): (Vec<_>, Vec<_>) = all
            .filter(|(_, filled)| filled.input.is_some() && filled.is_for(input))
            .partition(|(_, filled)| filled.fits(input));
        match (fitting.as_slice(), akin.as_slice()) {
            ([only], _) | ([], [only]) => Some(*only),
            _ => None,
        }
    }

    /// The form of a skill, given by id or name.
    pub(crate) fn of(&self, card: &AgentCard, task_type: &str) -> Option<&Filled> {
        self.named(card, task_type).map(|(_, filled)| filled)
    }

    fn named(&self, card: &AgentCard, task_type: &str) -> Option<(&str, &Filled)> {
        let is_meant = |id: &&String| {
            let skill = card.skills.iter().find(|skill| skill.id == **id);
            **id == task_type || skill.is_some_and(|skill| skill.name == task_type)
        };
        let id = self.0.keys().find(is_meant)?;
        Some((id, self.0.get(id)?))
    }
}

impl Filled {
    fn new(skill: &str, form: Arc<dyn Form>, contract: &Contract) -> Result<Self, String> {
        let schema = form.schema();
        let input = match &contract.input {
            None => None,
            Some(schema) => Some(Takes::new(schema)?),
        };
        Ok(Self {
            answer: schema::compile(&schema)?,
            asked: tool_loop::AnswerForm {
                name: name(skill),
                schema,
            },
            form,
            input,
        })
    }

    /// The schema that the model is asked for.
    pub(crate) fn asked(&self) -> tool_loop::AnswerForm {
        self.asked.clone()
    }

    /// True if this is data for the skill, and not something that goes with words.
    fn is_for(&self, input: &Value) -> bool {
        match &self.input {
            None => input.is_object(),
            Some(takes) => takes.is_for(input),
        }
    }

    /// True if this is all that the skill requires.
    fn fits(&self, input: &Value) -> bool {
        let takes = self.input.as_ref();
        takes.is_none_or(|takes| takes.filled("", input.clone()).is_ok())
    }

    /// Tells whether the model's answer can be used, and what it becomes.
    pub(crate) fn verdict(&self, input: &Value, answer: &str) -> Verdict {
        let accepted =
            read(answer).and_then(|value| match schema::violations(&self.answer, &value) {
                Some(violations) => {
                    Err(format!("the answer does not fit the schema: {violations}"))
                }
                None => self.form.accept(input, value),
            });
        match accepted {
            Ok(data) => Verdict::Fits {
                text: self.form.told(&data),
                data,
            },
            Err(reason) => Verdict::Rejected(reason),
        }
    }
}

/// The answer as JSON. A fence around it, or words before and after it, are forgiven.
fn read(answer: &str) -> Result<Value, String> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err("the answer is empty".to_owned());
    }
    let error = match serde_json::from_str(answer) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let inner = answer.find('{').zip(answer.rfind('}'));
    inner
        .filter(|(from, to)| from < to)
        .and_then(|(from, to)| serde_json::from_str(&answer[from..=to]).ok())
        .ok_or_else(|| format!("the answer is no JSON: {error}"))
}

/// The skill's id as providers take names.
fn name(skill: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let name: String = skill.chars().map(plain).take(64).collect();
    match name.is_empty() {
        true => "answer".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Card, Skill};
    use serde_json::json;

    #[derive(Debug)]
    struct Count;

    impl Form for Count {
        fn schema(&self) -> Value {
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        }

        fn accept(&self, input: &Value, answer: Value) -> Result<Value, String> {
            let most = input["most"].as_i64().unwrap_or(9);
            match answer["n"].as_i64() {
                Some(n) if n <= most => Ok(json!({"count": n})),
                _ => Err(format!("n is above {most}")),
            }
        }

        fn told(&self, output: &Value) -> String {
            format!("{} of them", output["count"])
        }
    }

    fn card() -> AgentCard {
        let takes =
            json!({"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]});
        Card::new("counter", "")
            .skill(Skill::new("count.all", "Count", ""))
            .input_schema("count.all", takes)
            .into()
    }

    fn forms() -> Forms {
        let forms = vec![("count.all".to_owned(), Arc::new(Count) as Arc<dyn Form>)];
        Forms::new(&card(), forms).expect("a form that can be used")
    }

    #[test]
    fn a_request_with_data_for_the_skill_is_answered_with_data_and_others_in_words() {
        let (forms, card) = (forms(), card());
        let wanted = |task_type: &str, input: Option<Value>| {
            let wanted = forms.wanted(&card, task_type, input);
            wanted.map(|found| found.is_some())
        };
        assert_eq!(wanted("count.all", Some(json!({"of": "x"}))), Ok(true));
        assert_eq!(wanted("Count", Some(json!({"of": "x"}))), Ok(true));
        assert_eq!(wanted("count.all", None), Ok(false));
        assert_eq!(wanted("count.all", Some(json!({"text": "hi"}))), Ok(false));
        assert_eq!(wanted("count.all", Some(json!(["of"]))), Ok(false));
        assert_eq!(wanted("", Some(json!({"of": "x"}))), Ok(true));
        let error = wanted("count.all", Some(json!({"of": 3}))).expect_err("no string");
        assert!(error.contains("at \"/of\""), "{error}");
    }

    /// spec: ORC-9
    #[test]
    fn only_an_answer_that_fits_and_is_accepted_can_be_used() {
        let forms = forms();
        let wanted = forms.wanted(&card(), "count.all", Some(json!({"of": "x"})));
        let (filled, _) = wanted.expect("the data fits").expect("there is a form");
        assert_eq!(filled.asked().name, "count_all");
        let verdict = |answer: &str| filled.verdict(&json!({"most": 5}), answer);
        let fits = Verdict::Fits {
            text: "4 of them".into(),
            data: json!({"count": 4}),
        };
        for answer in [
            "{\"n\": 4}",
            "```json\n{\"n\": 4}\n```",
            "Here: {\"n\": 4}.",
        ] {
            assert_eq!(verdict(answer), fits, "{answer}");
        }
        for (answer, part) in [
            ("", "empty"),
            ("four", "no JSON"),
            ("}{", "no JSON"),
            ("{\"n\": \"4\"}", "at \"/n\""),
            ("{\"n\": 6}", "n is above 5"),
        ] {
            let Verdict::Rejected(reason) = verdict(answer) else {
                panic!("{answer} was accepted");
            };
            assert!(reason.contains(part), "{reason}");
        }
    }

    /// spec: ORC-2.3
    #[test]
    fn data_without_a_task_type_is_for_the_only_skill_that_takes_it() {
        let takes = |required: &str| {
            let named = json!({required: {"type": "string"}, "language": {}});
            json!({"type": "object", "properties": named, "required": [required]})
        };
        let card = Card::new("a", "")
            .skill(Skill::new("review", "Review", ""))
            .input_schema("review", takes("draft"))
            .skill(Skill::new("write", "Write", ""))
            .input_schema("write", takes("brief"));
        let card: AgentCard = card.into();
        let form = |skill: &str| (skill.to_owned(), Arc::new(Count) as Arc<dyn Form>);
        let forms = Forms::new(&card, vec![form("review"), form("write")]).expect("they fit");
        let wanted = |input: Value| {
            let found = forms.wanted(&card, "", Some(input));
            found.map(|found| found.map(|(filled, _)| filled.asked().name))
        };
        assert_eq!(wanted(json!({"draft": "a"})), Ok(Some("review".into())));
        let both = json!({"brief": "a", "language": "en"});
        assert_eq!(wanted(both), Ok(Some("write".into())));
        for for_nobody in [
            json!({"language": "en"}),
            json!({"draft": "a", "brief": "b"}),
            json!({"colour": "red"}),
        ] {
            assert_eq!(wanted(for_nobody.clone()), Ok(None), "{for_nobody}");
        }
        let wrong = wanted(json!({"draft": 7})).expect_err("it is no text");
        assert!(wrong.contains("what review takes"), "{wrong}");
    }

    #[test]
    fn a_form_needs_its_skill() {
        let forms = vec![("other".to_owned(), Arc::new(Count) as Arc<dyn Form>)];
        let error = Forms::new(&card(), forms).expect_err("no such skill");
        assert!(error.contains("\"other\""), "{error}");
    }
}
