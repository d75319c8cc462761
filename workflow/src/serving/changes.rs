//! Changes that make the agents at work those of the files.

use std::sync::Arc;

use super::folder::{ById, Found};
use crate::executor::Served;

/// Changes of the agents.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Ids of the agents whose files are gone, or name them otherwise.
    pub(super) stop: Vec<String>,
    /// The workflows that have changed.
    pub(super) replace: Vec<Arc<Served>>,
    /// The workflows without an agent.
    pub(super) start: Vec<Arc<Served>>,
}

/// Compares the agents at work with what the files say. An agent whose file has faults stays as it is.
pub(super) fn changes(at_work: &ById, found: &Found) -> Changes {
    let mut changes = Changes::default();
    for (id, served) in at_work {
        if !found.workflows.contains_key(id) && !found.broken.contains_key(&served.path) {
            changes.stop.push(id.clone());
        }
    }
    for (id, served) in &found.workflows {
        match at_work.get(id) {
            None => changes.start.push(Arc::clone(served)),
            Some(known) if !known.is_same(served) => changes.replace.push(Arc::clone(served)),
            Some(_) => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::folder::{ById, read},
        *,
    };

    /// A workflow that says this.
    fn workflow(text: &str) -> String {
        format!("steps:\n  a: {{ agent: agent_echo, text: {text} }}\n")
    }

    #[test]
    fn agents_follow_their_files_and_keep_what_was_right() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("a file");
        let mut at_work = ById::new();
        let look = |at_work: &mut ById| {
            let found = read(dir, at_work).expect("the folder is there");
            let changes = changes(at_work, &found);
            let ids = |all: &[Arc<Served>]| all.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
            let told = (
                changes.stop.clone(),
                ids(&changes.replace),
                ids(&changes.start),
            );
            at_work.retain(|id, _| !changes.stop.contains(id));
            let new = changes.replace.into_iter().chain(changes.start);
            at_work.extend(new.map(|served| (served.id.clone(), served)));
            let faults = found.faults.iter().map(|fault| fault.message.clone());
            (told, faults.collect::<Vec<_>>())
        };
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let none = || ids(&[]);

        let (told, faults) = look(&mut at_work);
        assert_eq!(told, (none(), none(), none()));
        assert!(faults[0].contains("holds no workflows"), "{faults:?}");

        write("one.yaml", &workflow("x"));
        write(
            "two.json",
            r#"{"name": "second", "steps": {"a": {"agent": "agent_echo", "text": "x"}}}"#,
        );
        write(".hidden.yaml", "nonsense");
        write("notes.txt", "nonsense");
        assert_eq!(
            look(&mut at_work),
            ((none(), none(), ids(&["one", "second"])), vec![])
        );
        assert_eq!(look(&mut at_work), ((none(), none(), none()), vec![]));

        write("one.yaml", &workflow("y"));
        assert_eq!(look(&mut at_work).0, (none(), ids(&["one"]), none()));

        write("one.yaml", "steps: {}\nstep: 1\n");
        let (told, faults) = look(&mut at_work);
        assert_eq!(told, (none(), none(), none()), "the last good one is kept");
        assert!(!faults.is_empty());

        // The broken file's agent keeps its name, also before a file that comes first.
        write("another.yaml", &format!("name: one\n{}", workflow("z")));
        let (told, faults) = look(&mut at_work);
        assert_eq!(told, (none(), none(), none()));
        let two = |faults: &[String]| {
            faults
                .iter()
                .any(|f| f.contains("two workflows called `one`"))
        };
        assert!(two(&faults), "{faults:?}");

        write("one.yaml", &workflow("y"));
        let (told, faults) = look(&mut at_work);
        assert_eq!(told, (none(), none(), none()));
        assert!(two(&faults), "{faults:?}");

        // A file that another one names has a fault: both agents stay as they are.
        write("inner.yaml", &workflow("x"));
        write("outer.yaml", "steps:\n  a: { workflow: inner.yaml }\n");
        assert_eq!(look(&mut at_work).0.2, ids(&["inner", "outer"]));
        write("inner.yaml", "steps: {}\nstep: 1\n");
        let (told, faults) = look(&mut at_work);
        assert_eq!(told, (none(), none(), none()));
        let misspelt = faults.iter().filter(|fault| fault.contains("`step`"));
        assert_eq!(misspelt.count(), 1, "{faults:?}");
        for file in ["inner.yaml", "outer.yaml"] {
            fs::remove_file(dir.join(file)).expect("it is there");
        }
        assert_eq!(look(&mut at_work).0.0, ids(&["inner", "outer"]));

        fs::remove_file(dir.join("one.yaml")).expect("it is there");
        assert_eq!(
            look(&mut at_work),
            ((none(), ids(&["one"]), none()), vec![])
        );
        fs::remove_file(dir.join("another.yaml")).expect("it is there");
        assert_eq!(
            look(&mut at_work),
            ((ids(&["one"]), none(), none()), vec![])
        );
    }
}
