//! Skills of an agent: their description on its card, their input and their output.

use std::fmt;

use agenthub_proto::a2a::AgentSkill;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Failure, Phase, Reply, TaskContext};

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// Something that an agent can do, to put on its [`Card`](crate::Card) and to give a handler in
/// [`AgentBuilder::on`](crate::AgentBuilder::on). It takes `I` and gives `O`.
///
/// ```
/// use agenthub_sdk::{Agent, Card, Skill, schemars::JsonSchema};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Numbers {
///     numbers: Vec<f64>,
/// }
///
/// #[derive(serde::Serialize, JsonSchema)]
/// struct Sum {
///     sum: f64,
/// }
///
/// let shout = Skill::new("shout", "Shout", "Says a text in capital letters").tags(["text"]);
/// let add = Skill::typed::<Numbers, Sum>("add", "Add", "Adds numbers up");
/// let agent = Agent::worker(Card::new("helper", "Helps"))
///     .on(&shout, async |_, text| text.to_uppercase())
///     .on(&add, async |_, input| Sum { sum: input.numbers.iter().sum() })
///     .build();
/// assert!(agent.is_ok());
/// ```
pub struct Skill<I = String, O = Reply> {
    pub(crate) declared: SkillDeclaration,
    pub(crate) read: fn(&TaskContext) -> Result<I, Failure>,
    pub(crate) answer: fn(O) -> Result<Reply, Failure>,
}

/// A skill as a card has it, made of a [`Skill`] or an [`AgentSkill`].
#[derive(Clone, Debug, PartialEq)]
pub struct SkillDeclaration {
    pub(crate) skill: AgentSkill,
    pub(crate) input: Option<Value>,
    pub(crate) output: Option<Value>,
    pub(crate) phase: Option<Phase>,
}

impl Skill {
    /// A skill that takes the text of a message and gives any [`Reply`]. The id is what others name to get it.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let skill = AgentSkill {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            input_modes: vec![TEXT.to_owned()],
            output_modes: vec![TEXT.to_owned()],
            ..Default::default()
        };
        Self {
            declared: skill.into(),
            read: |task| Ok(task.text()),
            answer: Ok,
        }
    }

    /// A skill that takes and gives data. The schemas on the card follow from the types, the descriptions of fields from their doc comments.
    /// A request whose data do not fit is rejected, and told why.
    pub fn typed<I, O>(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Skill<I, O>
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let mut declared = Skill::new(id, name, description)
            .modes([JSON], [JSON])
            .declared;
        declared.input = Some(schema::<I>());
        declared.output = Some(schema::<O>());
        Skill {
            declared,
            read: data,
            answer: |output| {
                let value = serde_json::to_value(output);
                value.map(Reply::from).map_err(Failure::from)
            },
        }
    }
}

impl<I, O> Skill<I, O> {
    /// Words to find it by.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.declared.skill.tags = strings(tags);
        self
    }

    /// Requests that it is right for.
    #[must_use]
    pub fn examples<S: Into<String>>(mut self, examples: impl IntoIterator<Item = S>) -> Self {
        self.declared.skill.examples = strings(examples);
        self
    }

    /// The MIME types that it takes and gives.
    #[must_use]
    pub fn modes<S: Into<String>>(
        mut self,
        input: impl IntoIterator<Item = S>,
        output: impl IntoIterator<Item = S>,
    ) -> Self {
        self.declared.skill.input_modes = strings(input);
        self.declared.skill.output_modes = strings(output);
        self
    }

    /// The part of a run that it belongs to; `analysis` if not given.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.declared.phase = Some(phase);
        self
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.declared.skill.id
    }
}

impl<I, O> Clone for Skill<I, O> {
    fn clone(&self) -> Self {
        Self {
            declared: self.declared.clone(),
            read: self.read,
            answer: self.answer,
        }
    }
}

impl<I, O> fmt::Debug for Skill<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declared.fmt(f)
    }
}

impl From<AgentSkill> for SkillDeclaration {
    fn from(skill: AgentSkill) -> Self {
        Self {
            skill,
            input: None,
            output: None,
            phase: None,
        }
    }
}

impl<I, O> From<Skill<I, O>> for SkillDeclaration {
    fn from(skill: Skill<I, O>) -> Self {
        skill.declared
    }
}

impl<I, O> From<&Skill<I, O>> for SkillDeclaration {
    fn from(skill: &Skill<I, O>) -> Self {
        skill.declared.clone()
    }
}

impl<I, O> From<Skill<I, O>> for AgentSkill {
    fn from(skill: Skill<I, O>) -> Self {
        skill.declared.skill
    }
}

fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// The data of a message: its first data part, or its text where that is JSON.
fn data<I: DeserializeOwned>(task: &TaskContext) -> Result<I, Failure> {
    let text = || serde_json::from_str(&task.text()).ok();
    let Some(data) = task.data().or_else(text) else {
        let why = "this takes data, and there is none: send a data part, or JSON as the text";
        return Err(Failure::rejected(why));
    };
    serde_json::from_value(data).map_err(|error| {
        Failure::rejected(format!("the data does not fit what is taken here: {error}"))
    })
}

fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    items.into_iter().map(Into::into).collect()
}
