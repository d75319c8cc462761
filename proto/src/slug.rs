//! Slugs: an agent's id in a tool name, topic, file, URL or tenant.

/// Maximum bytes of a slug.
pub const MAX_LEN: usize = 57;

/// First path segments of routes; an agent with such a slug would shadow one.
const ROUTE_WORDS: [&str; 9] = [
    "agents",
    "events",
    "extendedagentcard",
    "health",
    "message",
    "metrics",
    "ready",
    "tasks",
    "v1",
];

/// The id as `[a-z0-9_-]{1,57}`: "Hello World" becomes `hello-world`. If the result would be empty or too long, a hash
/// of the id replaces it.
pub fn slug(id: &str) -> String {
    let mut slug = String::with_capacity(id.len());
    for c in id.chars() {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        return hash(id);
    }
    if slug.len() > MAX_LEN {
        let hash = hash(id);
        return format!("{}-{hash}", &slug[..MAX_LEN - hash.len() - 1]);
    }
    slug.to_owned()
}

/// True if a route begins with this word.
pub fn is_route_word(slug: &str) -> bool {
    ROUTE_WORDS.contains(&slug)
}

fn hash(id: &str) -> String {
    let digest = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, id.as_bytes());
    digest.simple().to_string()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_what_a_name_may_hold() {
        assert_eq!(slug("Hello World"), "hello-world");
        assert_eq!(slug("agent_echo"), "agent_echo");
        assert_eq!(slug("  a..b  "), "a-b");
        assert_eq!(slug("日本語").len(), 16);
    }

    proptest! {
        #[test]
        fn every_id_has_one(id in "\\PC{1,128}") {
            let slug = slug(&id);
            prop_assert!((1..=MAX_LEN).contains(&slug.len()));
            prop_assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-'));
        }
    }
}
