//! Methods on agent cards.

use crate::a2a::AgentCard;

impl AgentCard {
    /// True if the agent has a skill with this id or name.
    pub fn has_skill(&self, skill: &str) -> bool {
        self.skills.iter().any(|s| s.id == skill || s.name == skill)
    }

    /// The searchable text of the card in lower case: name, description, skills, tags and examples.
    pub fn search_text(&self) -> String {
        let mut text = format!("{} {}", self.name, self.description);
        for skill in &self.skills {
            let words = [&skill.id, &skill.name, &skill.description];
            for word in words.into_iter().chain(&skill.tags).chain(&skill.examples) {
                text.push(' ');
                text.push_str(word);
            }
        }
        text.to_lowercase()
    }
}
