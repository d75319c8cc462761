//! Ids in requests, and answers without them.

/// Ids of one namespace or principal, or of none, all of the same length.
pub(crate) struct Ids {
    pub(crate) agent: String,
    pub(crate) task: String,
    pub(crate) run: String,
    pub(crate) letter: String,
}

impl Ids {
    /// Ids of the same form that are nobody's. Numbers keep calls apart that leave something behind.
    pub(crate) fn unknown(&self) -> Self {
        let other = |id: &str| -> String {
            let turned = id.chars().map(|c| match c {
                'a'..='e' | '0'..='8' => char::from(c as u8 + 1),
                'f' | '9' => '0',
                other => other,
            });
            turned.collect()
        };
        Self {
            agent: "nowhere_known".to_owned(),
            task: other(&self.task),
            run: other(&self.run),
            letter: other(&self.letter),
        }
    }

    pub(crate) fn into(&self, text: &str) -> String {
        text.replace("AGENT", &self.agent)
            .replace("TASK_STATE", "state-of-a-task")
            .replace("TASK", &self.task)
            .replace("state-of-a-task", "TASK_STATE")
            .replace("RUN", &self.run)
            .replace("LETTER", &self.letter)
    }

    /// An answer without the ids, and without what differs between any two calls.
    pub(crate) fn out_of(&self, answer: &str) -> String {
        let mut said = answer.to_owned();
        for (id, name) in [
            (&self.agent, "AGENT"),
            (&self.task, "TASK"),
            (&self.run, "RUN"),
            (&self.letter, "LETTER"),
        ] {
            said = said.replace(id.as_str(), name);
            // Screens show the beginning of an id.
            if id.len() > 20 {
                let parts: Vec<&str> = said.split(&id[..8]).collect();
                let joined = parts.iter().skip(1).map(|part| {
                    // Ids that are made at about the same time begin alike.
                    let is_longer = part.starts_with(|c: char| c.is_ascii_hexdigit() || c == '-');
                    let begins = if is_longer { &id[..8] } else { name };
                    format!("{begins}{part}")
                });
                said = parts[0].to_owned() + &joined.collect::<String>();
            }
        }
        without_chance(&said)
    }
}

/// Times, positions and ids that are made up on the way differ between any two calls.
fn without_chance(text: &str) -> String {
    let is_of_id = |c: char| {
        c.is_ascii_hexdigit()
            || c == '-'
            || c == ':'
            || c == '.'
            || c == '_'
            || c == 'T'
            || c == 'Z'
    };
    let mut out = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        match digits >= 4
            || (digits > 0
                && word
                    .chars()
                    .all(|c| c.is_ascii_digit() || c == ':' || c == '.'))
        {
            true => out.push('#'),
            false => out.push_str(word),
        }
        word.clear();
    };
    for c in text.chars() {
        match is_of_id(c) {
            true => word.push(c),
            false => {
                flush(&mut word, &mut out);
                out.push(c);
            }
        }
    }
    flush(&mut word, &mut out);
    out
}
