//! News for people of a team and of faults in files.

use std::sync::Arc;

use agenthub_terminal::{faults::show, output};

use crate::{Kind, Member, News};

/// Tells what happens in a team, on stderr. What happens while it starts is told in one go by whoever starts it.
pub(super) fn tell() -> Arc<dyn Fn(&News) + Send + Sync> {
    Arc::new(|news| {
        if let Some(line) = line(news) {
            output::aside(output::plain(&line));
        }
        if let News::Wrong { fault, .. } = news {
            show(fault);
        }
    })
}

/// Tells only what is wrong.
pub(super) fn tell_faults() -> Arc<dyn Fn(&News) + Send + Sync> {
    Arc::new(|news| {
        if let News::Wrong { fault, .. } = news {
            show(fault);
        }
    })
}

fn line(news: &News) -> Option<String> {
    Some(match news {
        News::Started(member) => format!("{} is here ({})", described(member), file(member)),
        News::Replaced(member) => format!(
            "{} works by the new {} from here on; what it is doing, it ends as it began",
            described(member),
            file(member)
        ),
        News::Stopped {
            member,
            called: Some(called),
        } => format!(
            "{} has gone, as {} calls its agent {called}",
            described(member),
            file(member)
        ),
        News::Stopped { member, .. } => {
            format!("{} has gone, as {} has", described(member), file(member))
        }
        News::Wrong {
            kept: Some(kept), ..
        } => format!("{kept} goes on as it was, since this is wrong with its file:"),
        News::Lost { member, reason } => {
            format!("the hub has sent {} away: {reason}", described(member))
        }
        _ => return None,
    })
}

fn described(member: &Member) -> String {
    match member.kind {
        Kind::Agent => member.name.clone(),
        Kind::Orchestrator => format!("{} (the orchestrator)", member.name),
    }
}

fn file(member: &Member) -> String {
    member.path.display().to_string()
}

/// A number of things, in words.
pub(super) fn count(n: usize, one: &str, more: &str) -> String {
    match n {
        0 => format!("no {more}"),
        1 => format!("1 {one}"),
        n => format!("{n} {more}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::Fault;

    #[test]
    fn each_piece_of_news_is_a_line_that_names_the_agent_and_its_file() {
        let member = |kind| Member {
            name: "critic".to_owned(),
            kind,
            path: PathBuf::from("sops/critic.md"),
        };
        for (news, parts) in [
            (
                News::Started(member(Kind::Agent)),
                ["critic is here", "sops/critic.md"],
            ),
            (
                News::Replaced(member(Kind::Agent)),
                ["critic works by the new", "sops/critic.md"],
            ),
            (
                News::Stopped {
                    member: member(Kind::Orchestrator),
                    called: None,
                },
                ["critic (the orchestrator)", "as sops/critic.md has"],
            ),
            (
                News::Stopped {
                    member: member(Kind::Agent),
                    called: Some("judge".to_owned()),
                },
                ["critic has gone", "sops/critic.md calls its agent judge"],
            ),
            (
                News::Lost {
                    member: member(Kind::Agent),
                    reason: "unregistered".to_owned(),
                },
                ["critic", "unregistered"],
            ),
        ] {
            let line = line(&news).expect("there is something to say");
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
        let fault = Fault::error(Path::new("sops/critic.md"), "no");
        let wrong = |kept: Option<&str>| News::Wrong {
            fault: fault.clone(),
            kept: kept.map(str::to_owned),
        };
        let kept = line(&wrong(Some("critic"))).expect("there is something to say");
        assert!(kept.contains("critic goes on as it was"), "{kept}");
        assert_eq!(line(&wrong(None)), None, "the fault says it all");
    }
}
