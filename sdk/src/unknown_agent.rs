//! Names of agents that the hub does not know.

/// Names that are offered in place of an unknown one, at most.
const MAX_MEANT: usize = 3;

/// Names that are listed where none is like the unknown one, at most.
const MAX_LISTED: usize = 8;

/// Likeness of two names from which one may be meant by the other, from 0 to 1.
const ALIKE: f64 = 0.8;

/// Bytes of an id that is compared with others, at most: comparing takes more than in proportion to them.
const LONGEST: usize = 100;

/// Text on an agent that the hub does not know, with those of the known `names` that may be meant.
pub fn unknown_agent<'a>(id: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let likeness = |name: &str| {
        if id.len() > LONGEST {
            return 0.0;
        }
        let (wanted, name) = (id.to_lowercase(), name.to_lowercase());
        match wanted.len() > 2 && name.contains(&wanted) {
            true => 1.0,
            false => strsim::jaro_winkler(&wanted, &name),
        }
    };
    let mut alike: Vec<(f64, &str)> = names
        .iter()
        .map(|name| (likeness(name), *name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let alike = alike
        .iter()
        .take(MAX_MEANT)
        .map(|(_, name)| format!("\"{name}\""));
    let alike: Vec<String> = alike.collect();
    let why = format!("no agent called \"{id}\" is known here");
    match (alike.is_empty(), names.is_empty()) {
        (false, _) => format!("{why}; did you mean {}?", alike.join(" or ")),
        (true, true) => format!("{why}, nor any other"),
        (true, false) => {
            let listed: Vec<&str> = names.iter().copied().take(MAX_LISTED).collect();
            let more = match names.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{why}; there are {}{more}", listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: HUB-3
    #[test]
    fn an_unknown_name_is_told_with_those_that_may_be_meant() {
        let known = ["agent_echo", "cortex", "qa", "writer"];
        for (id, expected) in [
            ("agent_ehco", "; did you mean \"agent_echo\"?"),
            ("echo", "; did you mean \"agent_echo\"?"),
            ("Writer", "; did you mean \"writer\"?"),
            ("nobody", "; there are agent_echo, cortex, qa, writer"),
        ] {
            assert_eq!(
                unknown_agent(id, known),
                format!("no agent called \"{id}\" is known here{expected}")
            );
        }
        assert!(unknown_agent("x", []).ends_with("is known here, nor any other"));
        let many: Vec<String> = (0..11).map(|n| format!("zz{n}")).collect();
        let told = unknown_agent("aaaa", many.iter().map(String::as_str));
        assert!(told.ends_with("zz7 and 3 more"), "{told}");
    }
}
