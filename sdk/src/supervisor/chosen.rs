//! The agents that a supervisor may ask, and the form of the calls.

use std::{fmt, sync::Arc};

use agenthub_proto::a2a::AgentCard;
use agenthub_runs::tool_loop::CallForm;

type Choice = Arc<dyn Fn(&AgentCard) -> bool + Send + Sync>;

/// The agents that a supervisor's model is offered and may find, and which arguments their tools have. Whoever they are, the supervisor
/// itself, Cortex and those on whose behalf a task was asked for are not among them.
#[derive(Clone, Default)]
pub struct Peers {
    choice: Option<Choice>,
    own: Option<Choice>,
    calling: CallForm,
}

impl Peers {
    /// Every agent of the hub.
    pub fn all() -> Self {
        Self::default()
    }

    /// The agents whose cards are chosen. It is asked before each turn of a model, so it is quick, and always says the same of the same card.
    pub fn chosen(choice: impl Fn(&AgentCard) -> bool + Send + Sync + 'static) -> Self {
        Self {
            choice: Some(Arc::new(choice)),
            ..Self::default()
        }
    }

    /// Arguments of the tools; [`CallForm::Request`] if not given. An agent that [`CallForm::Task`] does not fit, since it has several
    /// skills or takes a field `task` itself, is called with [`CallForm::Request`] in any case.
    #[must_use]
    pub fn calling(self, calling: CallForm) -> Self {
        Self { calling, ..self }
    }

    /// Of which of them the supervisor's author wrote the cards: what such a card says goes to the model as it is. What others say of
    /// themselves is shortened, and said to be theirs.
    #[must_use]
    pub fn own(self, own: impl Fn(&AgentCard) -> bool + Send + Sync + 'static) -> Self {
        Self {
            own: Some(Arc::new(own)),
            ..self
        }
    }

    /// True if this agent's card is the author's own words.
    pub(crate) fn is_own(&self, card: &AgentCard) -> bool {
        self.own.as_ref().is_some_and(|own| own(card))
    }

    /// True if this agent is among them.
    pub(crate) fn has(&self, card: &AgentCard) -> bool {
        self.choice.as_ref().is_none_or(|choice| choice(card))
    }

    pub(crate) fn wanted(&self) -> CallForm {
        self.calling
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers")
            .field("all", &self.choice.is_none())
            .field("own", &self.own.is_some())
            .field("calling", &self.calling)
            .finish()
    }
}
