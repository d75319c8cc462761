//! Methods on agent cards.

use crate::a2a::AgentCard;

impl AgentCard {
    /// Whether the agent has a skill with this id or name.
    pub fn has_skill(&self, skill: &str) -> bool {
        self.skills.iter().any(|s| s.id == skill || s.name == skill)
    }

    /// Everything in the card that people search in, lower-cased: name, description, skills, tags and examples.
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
