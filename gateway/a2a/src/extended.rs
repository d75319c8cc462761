//! Extended cards (specification §3.1.11, §13.3): what an agent's card says besides to those who know a token.

use agenthub_access::Caller;
use std::{collections::BTreeMap, fmt};

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::{
    error::{Error, Kind},
    json::{Malformed, from_json, to_json},
    v1::AgentCard,
};

/// Name of the security scheme of extended cards.
pub(crate) const SCHEME: &str = "extendedCard";

/// Extended cards by slug, and the token that they are given for.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtendedCards {
    cards: BTreeMap<String, Map<String, Value>>,
    token: String,
}

/// Reasons why there are no extended cards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoExtendedCards {
    /// The token can be guessed.
    #[error("a token for extended cards has at least 16 characters, none of them a space")]
    Token,
    /// A card is none.
    #[error("the extended card of \"{slug}\" is no part of a card: {fault}")]
    Card {
        /// Slug of the agent.
        slug: String,
        /// The fault.
        fault: String,
    },
}

impl ExtendedCards {
    /// Cards by slug: objects whose fields replace those of the agent's card.
    ///
    /// # Errors
    ///
    /// The token is short, or a card is none.
    pub fn new(
        cards: impl IntoIterator<Item = (String, Value)>,
        token: String,
    ) -> Result<Self, NoExtendedCards> {
        let is_printable = token.chars().all(|c| c.is_ascii_graphic());
        if token.len() < 16 || !is_printable {
            return Err(NoExtendedCards::Token);
        }
        let read = |(slug, card): (String, Value)| {
            let fault = |fault: String| NoExtendedCards::Card {
                slug: slug.clone(),
                fault,
            };
            let Value::Object(fields) = card else {
                return Err(fault("it is no object".to_owned()));
            };
            laid_over(&AgentCard::default(), &fields).map_err(|error| fault(error.to_string()))?;
            Ok((slug, fields))
        };
        let cards = cards.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { cards, token })
    }

    /// True if there is one for this agent.
    pub(crate) fn has(&self, slug: &str) -> bool {
        self.cards.contains_key(slug)
    }

    /// The extended card of an agent whose card this is, for a caller with this `Authorization`; `None` if it has none.
    ///
    /// # Errors
    ///
    /// [`Kind::Unauthenticated`].
    pub(crate) fn card(
        &self,
        slug: &str,
        card: &AgentCard,
        authorization: &str,
        caller: &Caller,
    ) -> Result<Option<AgentCard>, Error> {
        let Some(fields) = self.cards.get(slug) else {
            return Ok(None);
        };
        // A caller whose identity was checked needs no other token.
        if caller.is_anonymous() && !self.is_known(authorization) {
            return Err(Kind::Unauthenticated
                .with("an extended card is for callers with its token: Authorization: Bearer …"));
        }
        let extended = laid_over(card, fields);
        let extended = extended.map_err(|malformed| Kind::Internal.with(malformed.to_string()))?;
        Ok(Some(extended))
    }

    /// Compares digests, so that the time it takes says nothing of the token.
    fn is_known(&self, authorization: &str) -> bool {
        let Some((scheme, token)) = authorization.split_once(' ') else {
            return false;
        };
        let of = |text: &str| digest(&SHA256, text.as_bytes());
        let is_same = of(token.trim()).as_ref() == of(&self.token).as_ref();
        is_same && scheme.eq_ignore_ascii_case("bearer")
    }
}

impl fmt::Debug for ExtendedCards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slugs: Vec<_> = self.cards.keys().collect();
        f.debug_struct("ExtendedCards")
            .field("slugs", &slugs)
            .finish_non_exhaustive()
    }
}

/// The security scheme of the token, as cards declare it.
pub(crate) fn scheme() -> Value {
    json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "For GetExtendedAgentCard"}})
}

fn laid_over(card: &AgentCard, fields: &Map<String, Value>) -> Result<AgentCard, Malformed> {
    let mut json = to_json(card);
    for (name, value) in fields {
        json[name] = value.clone();
    }
    from_json(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn cards(card: Value) -> Result<ExtendedCards, NoExtendedCards> {
        ExtendedCards::new([("painter".to_owned(), card)], TOKEN.to_owned())
    }

    /// spec: A2A 1.0.1 §3.1.11, §13.3
    #[test]
    fn an_extended_card_is_for_those_who_know_the_token() {
        let cards = cards(json!({"description": "More"})).expect("right");
        let public = AgentCard {
            name: "painter".into(),
            description: "Little".into(),
            ..Default::default()
        };
        let ask = |authorization: &str| {
            cards.card("painter", &public, authorization, &Caller::anonymous())
        };
        let card = ask(&format!("bearer {TOKEN}")).expect("it is known");
        let card = card.expect("there is one");
        assert_eq!(
            (card.name.as_str(), card.description.as_str()),
            ("painter", "More")
        );
        for other in [
            "",
            TOKEN,
            "Bearer",
            "Bearer 0123456789abcdeg",
            &format!("Basic {TOKEN}"),
        ] {
            let refused = ask(other).map_err(|error| error.kind);
            assert_eq!(refused, Err(Kind::Unauthenticated), "{other}");
        }
        let of_other = cards.card("other", &public, "", &Caller::anonymous());
        assert_eq!(of_other, Ok(None));
        assert!(!format!("{cards:?}").contains(TOKEN));
    }

    #[test]
    fn what_is_no_card_is_refused_at_once() {
        assert!(cards(json!([])).is_err());
        let error = cards(json!({"skills": 5})).expect_err("no skills");
        assert!(error.to_string().contains("skills"), "{error}");
        let weak = ExtendedCards::new([], "short".to_owned());
        assert_eq!(weak, Err(NoExtendedCards::Token));
    }
}
