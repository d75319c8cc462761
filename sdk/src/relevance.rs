//! Which agents a request is about: plain word matching.

/// What is known of an agent, borrowed from wherever it is kept.
#[derive(Debug, Clone, Default)]
pub struct Card<'a> {
    /// The id.
    pub id: &'a str,
    /// A display name, where there is one besides the id.
    pub name: &'a str,
    /// What the agent does.
    pub description: &'a str,
    /// What it can be asked for.
    pub skills: Vec<Skill<'a>>,
}

/// A skill of a [`Card`].
#[derive(Debug, Clone, Default)]
pub struct Skill<'a> {
    /// The id.
    pub id: &'a str,
    /// The display name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// Its categories.
    pub tags: Vec<&'a str>,
    /// Requests that it is meant for.
    pub examples: Vec<&'a str>,
}
