//! The directory of agents: cards, versions and subscriptions. A fold of the log; presence is not part of it.

mod index;

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
    time::SystemTime,
};

use agenthub_access::fault_of_agent_id;
use agenthub_proto::{
    a2a::AgentCard,
    slug::{is_route_word, slug},
};

use self::index::Index;
use crate::{
    Error,
    id::{AgentId, Version},
    limits,
    log::Registration,
    routing::Wants,
    steps::step,
};

/// Maximum versions of an agent.
const VERSIONS: usize = 16;

/// An agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Agent {
    pub(crate) topics: Vec<String>,
    pub(crate) health_check_url: String,
    pub(crate) slug: String,
    /// Oldest registration first; at least one.
    pub(crate) versions: Vec<(Version, AgentCard)>,
    pub(crate) registered_at: SystemTime,
    /// Last recorded presence, if any.
    pub(crate) seen: Option<SystemTime>,
    /// The principal that registered it first, if callers had identities then.
    pub(crate) owner: Option<String>,
    search: SearchText,
}

/// Words of an agent's card in small letters, made when they are searched for the first time.
#[derive(Clone, Debug, Default)]
struct SearchText(OnceLock<Box<str>>);

impl PartialEq for SearchText {
    /// They follow from the card.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Agent {
    /// The words of the current card, in small letters.
    pub(crate) fn search_text(&self) -> &str {
        self.search.0.get_or_init(|| {
            step();
            self.latest().search_text().into()
        })
    }

    /// The card that was registered last.
    pub(crate) fn latest(&self) -> &AgentCard {
        let last = self.versions.last();
        &last.expect("an agent has registered a card").1
    }

    /// The card of a version.
    pub(crate) fn card(&self, version: Option<&Version>) -> Option<&AgentCard> {
        match version {
            None => Some(self.latest()),
            Some(version) => self
                .versions
                .iter()
                .find(|(v, _)| v == version)
                .map(|(_, c)| c),
        }
    }
}

/// Effect of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A new agent.
    New,
    /// Its card, topics or address differ.
    Differs,
    Nothing,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Registry {
    agents: BTreeMap<AgentId, Agent>,
    slugs: HashMap<String, AgentId>,
    index: Index,
}

impl Registry {
    pub(crate) fn get(&self, agent: &AgentId) -> Option<&Agent> {
        self.agents.get(agent)
    }

    pub(crate) fn len(&self) -> usize {
        self.agents.len()
    }

    /// All agents, ordered by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&AgentId, &Agent)> {
        self.agents.iter()
    }

    /// Agents with greater ids, in order.
    pub(crate) fn after<'a>(
        &'a self,
        agent: &str,
    ) -> impl Iterator<Item = (&'a AgentId, &'a Agent)> + use<'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.agents.range::<str, _>((Excluded(agent), Unbounded))
    }

    /// Agents whose ids begin so, in order.
    pub(crate) fn beginning_with<'a>(&'a self, head: &'a str) -> impl Iterator<Item = &'a AgentId> {
        use std::ops::Bound::{Included, Unbounded};
        let from_there = self.agents.range::<str, _>((Included(head), Unbounded));
        let ids = from_there.map(|(id, _)| id);
        ids.take_while(move |id| id.starts_with(head))
    }

    /// Checks a registration, and returns its effect.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a bad card, [`Error::AlreadyExists`] for a slug that another agent has or that
    /// begins a route.
    pub(crate) fn check(&self, registration: &Registration) -> Result<Change, Error> {
        let card = &registration.card;
        limits::card(card)?;
        let topics = registration.topics.iter().map(String::as_str);
        limits::ids("subscriptions", topics)?;
        limits::id("health_check_url", &registration.health_check_url)?;
        let slug = slug(&card.name);
        if is_route_word(&slug) {
            return Err(Error::AlreadyExists(format!(
                "the name \"{}\" is taken: routes begin with \"{slug}\"; choose another",
                card.name
            )));
        }
        if let Some(holder) = self.slugs.get(&slug).filter(|id| ***id != *card.name) {
            return Err(Error::AlreadyExists(format!(
                "the name \"{}\" is too like that of the agent \"{holder}\": both are \"{slug}\" in tool names and URLs; choose another",
                card.name
            )));
        }
        let Some(known) = self.agents.get(card.name.as_str()) else {
            // One that is there stays, as it was taken before.
            return match fault_of_agent_id(&card.name) {
                Some(fault) => Err(Error::InvalidArgument(format!(
                    "agent_card.name is {:?}: an id that {fault} cannot be taken; choose another",
                    card.name
                ))),
                None => Ok(Change::New),
            };
        };
        let same_card = known.card(Some(&card.version.as_str().into())) == Some(card);
        if same_card
            && known.topics == registration.topics
            && known.health_check_url == registration.health_check_url
        {
            return Ok(Change::Nothing);
        }
        Ok(Change::Differs)
    }

    /// The principal that an agent belongs to, if it belongs to one.
    pub(crate) fn owner(&self, agent: &str) -> Option<&str> {
        self.agents.get(agent)?.owner.as_deref()
    }

    /// Registers an agent, or replaces its registration. The first principal that does it has the id from then on.
    pub(crate) fn register(
        &mut self,
        registration: &Registration,
        principal: Option<&str>,
        time: SystemTime,
    ) {
        let card = &registration.card;
        let id = AgentId::from(card.name.as_str());
        let version = Version::from(card.version.as_str());
        let (mut versions, registered_at, seen, owner) = match self.agents.remove(&id) {
            Some(known) => {
                self.index.remove(&id, &known);
                (known.versions, known.registered_at, known.seen, known.owner)
            }
            None => (Vec::new(), time, None, None),
        };
        versions.retain(|(v, _)| *v != version);
        if versions.len() == VERSIONS {
            versions.remove(0);
        }
        // Most agents have only one version.
        versions.reserve_exact(1);
        versions.push((version, card.clone()));
        let agent = Agent {
            topics: registration.topics.clone(),
            health_check_url: registration.health_check_url.clone(),
            slug: slug(&card.name),
            versions,
            registered_at,
            seen,
            owner: owner.or_else(|| principal.map(str::to_owned)),
            search: SearchText::default(),
        };
        self.slugs.insert(agent.slug.clone(), id.clone());
        self.index.add(&id, &agent);
        self.agents.insert(id, agent);
    }

    /// Sets the last recorded presence of an agent.
    pub(crate) fn set_seen(&mut self, agent: &AgentId, time: SystemTime) {
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.seen = Some(time);
        }
    }

    /// Removes an agent.
    pub(crate) fn unregister(&mut self, id: &AgentId) {
        if let Some(agent) = self.agents.remove(id) {
            self.index.remove(id, &agent);
            self.slugs.remove(&agent.slug);
        }
    }

    /// Agents with the wanted capabilities; none if nothing is wanted.
    pub(crate) fn able(&self, wants: &Wants<'_>) -> Vec<AgentId> {
        let fits = |id: &&AgentId| {
            step();
            let agent = self.agents.get(*id);
            agent.is_some_and(|agent| has_skill(agent.latest(), wants))
        };
        let candidates = self.index.candidates(wants).into_iter();
        candidates.filter(fits).cloned().collect()
    }
}

/// True if one skill has all wanted tags and modes.
fn has_skill(card: &AgentCard, wants: &Wants<'_>) -> bool {
    let nothing =
        wants.tags.is_empty() && wants.input_modes.is_empty() && wants.output_modes.is_empty();
    let all = |wanted: &[String], has: &[String]| wanted.iter().all(|w| has.contains(w));
    nothing
        || card.skills.iter().any(|skill| {
            all(wants.tags, &skill.tags)
                && all(wants.input_modes, &skill.input_modes)
                && all(wants.output_modes, &skill.output_modes)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::a2a::AgentSkill;

    fn registration(name: &str, version: &str) -> Registration {
        Registration {
            card: AgentCard {
                name: name.into(),
                version: version.into(),
                skills: vec![AgentSkill {
                    id: "echo".into(),
                    tags: vec!["test".into(), "debug".into()],
                    input_modes: vec!["text/plain".into()],
                    ..Default::default()
                }],
                ..Default::default()
            },
            topics: vec!["echo_request".into()],
            health_check_url: String::new(),
        }
    }

    fn registry(registrations: &[Registration]) -> Registry {
        let mut registry = Registry::default();
        for registration in registrations {
            registry.check(registration).expect("it is good");
            registry.register(registration, None, SystemTime::UNIX_EPOCH);
        }
        registry
    }

    fn able(registry: &Registry, wants: &Wants<'_>) -> Vec<String> {
        registry
            .able(wants)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// spec: HUB-1
    #[test]
    fn registering_again_replaces_what_was_known() {
        let mut registry = registry(&[registration("a", "1")]);
        assert_eq!(registry.check(&registration("a", "1")), Ok(Change::Nothing));
        let other = Registration {
            topics: vec!["other".into()],
            ..registration("a", "1")
        };
        assert_eq!(registry.check(&other), Ok(Change::Differs));
        registry.register(&other, None, SystemTime::UNIX_EPOCH);
        let topic = |t| Wants {
            topics: vec![t],
            ..Wants::default()
        };
        assert_eq!(able(&registry, &topic("echo_request")), [""; 0]);
        assert_eq!(able(&registry, &topic("other")), ["a"]);
    }

    /// Issue 25: an id that is a pattern or hides what it is cannot be taken, and one that a log has stays.
    #[test]
    fn an_id_that_leads_astray_cannot_be_taken() {
        for bad in ["a*", "{self}", " a", "a\u{200b}"] {
            let refused = Registry::default().check(&registration(bad, "1"));
            let Err(Error::InvalidArgument(why)) = refused else {
                panic!("{bad}: {refused:?}");
            };
            assert!(why.contains("agent_card.name"), "{why}");
            let mut known = Registry::default();
            known.register(&registration(bad, "1"), None, SystemTime::UNIX_EPOCH);
            assert_eq!(known.check(&registration(bad, "1")), Ok(Change::Nothing));
            assert_eq!(known.check(&registration(bad, "2")), Ok(Change::Differs));
        }
    }

    /// spec: HUB-8
    #[test]
    fn versions_stand_beside_each_other() {
        let registry = registry(&[registration("a", "1"), registration("a", "2")]);
        let agent = registry.get(&"a".into()).expect("registered");
        assert_eq!(agent.latest().version, "2");
        assert!(agent.card(Some(&"1".into())).is_some());
        assert!(agent.card(Some(&"3".into())).is_none());
        assert_eq!(registry.check(&registration("a", "1")), Ok(Change::Nothing));
    }

    #[test]
    fn two_agents_never_share_a_slug() {
        let registry = registry(&[registration("Hello World", "1")]);
        assert!(matches!(
            registry.check(&registration("hello-world", "1")),
            Err(Error::AlreadyExists(_))
        ));
        assert!(matches!(
            registry.check(&registration("Agents", "1")),
            Err(Error::AlreadyExists(_))
        ));
    }

    /// spec: HUB-8
    #[test]
    fn capability_is_topic_or_skill_with_tags_and_modes() {
        let mut registry = registry(&[registration("a", "1")]);
        let tags = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (both, foreign) = (tags(&["debug", "test"]), tags(&["debug", "prod"]));
        let (text, html) = (tags(&["text/plain"]), tags(&["text/html"]));
        assert_eq!(
            able(
                &registry,
                &Wants {
                    topics: vec!["echo"],
                    ..Wants::default()
                }
            ),
            ["a"]
        );
        assert_eq!(
            able(
                &registry,
                &Wants {
                    tags: &both,
                    ..Wants::default()
                }
            ),
            ["a"]
        );
        assert_eq!(
            able(
                &registry,
                &Wants {
                    tags: &foreign,
                    ..Wants::default()
                }
            ),
            [""; 0]
        );
        assert_eq!(
            able(
                &registry,
                &Wants {
                    input_modes: &text,
                    ..Wants::default()
                }
            ),
            ["a"]
        );
        assert_eq!(
            able(
                &registry,
                &Wants {
                    input_modes: &html,
                    topics: vec!["echo"],
                    ..Wants::default()
                }
            ),
            [""; 0]
        );
        registry.unregister(&"a".into());
        assert_eq!(registry, Registry::default());
    }
}
