//! Texts that are taken as they stand, in which a `${…}` would never become a value.

use crate::{
    file,
    finding::{At, Finding, within},
};

/// Advice on an agent that is to be chosen.
const AGENT: &str = "write its name: agents are known before a run begins. `if` chooses between steps of several agents";

/// Advice on an event that is to be chosen.
const EVENT: &str = "write its type; `match` compares fields of its data, and takes `${…}`";

/// Advice on a sender that is to be chosen.
const SENDER: &str =
    "write the sender's name, or leave `from` out and read `${STEP.output.from}` behind the step";

/// References in texts that take none.
pub(super) fn check_literals(step: &file::Step, at: &At, findings: &mut Vec<Finding>) {
    let compensate = step.compensate.as_ref();
    let of_compensate = within(at, "compensate");
    let filter = step.wait_for.as_ref();
    let of_filter = within(at, "wait_for");
    let texts = [
        (at, "agent", step.agent.as_ref(), AGENT),
        (at, "agent_name", step.agent_name.as_ref(), AGENT),
        (at, "skill", step.skill.as_ref(), AGENT),
        (at, "fallback", step.fallback.as_ref(), AGENT),
        (
            &of_compensate,
            "agent",
            compensate.and_then(|call| call.agent.as_ref()),
            AGENT,
        ),
        (
            &of_compensate,
            "skill",
            compensate.and_then(|call| call.skill.as_ref()),
            AGENT,
        ),
        (
            &of_filter,
            "event",
            filter.map(|filter| &filter.event),
            EVENT,
        ),
        (
            &of_filter,
            "from",
            filter.and_then(|filter| filter.from.as_ref()),
            SENDER,
        ),
    ];
    for (holder, field, text, help) in texts {
        let Some((_, rest)) = text.and_then(|text| text.split_once("${")) else {
            continue;
        };
        let inner = rest.split_once('}').map_or(rest, |(inner, _)| inner);
        let message = format!("`{field}` takes no `${{…}}`: it is taken as it stands");
        let finding = Finding::at(within(holder, field), message, help);
        findings.push(finding.snippet(&format!("${{{inner}")));
    }
}
