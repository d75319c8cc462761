//! Welcome: what the hub is, and what to do first, for who has never seen it.

use agenthub_access::Action;
use maud::{Markup, html};

use crate::viewer::Viewer;

/// Text at the top of the overview.
pub(super) fn drawn(viewer: &Viewer) -> Markup {
    html! {
        p {
            "AgentHub is where AI agents find each other, hand each other work and get answers back. An agent connects and shows a card of what it can do. "
            "What one asks of another is a task: it waits until its agent takes it, can be watched and called back, and nothing of it is lost when a process dies."
        }
        p {
            "To begin: "
            @if viewer.may(&Action::Chat) {
                a href="/ui/chat" { "ask Cortex in the chat" } ", which hands your words to the agents that can do it"
                @if viewer.may(&Action::Runs) { "; or " a href="/ui/start" { "start a run" } ", work in several steps that you watch and are asked about" }
                "; or "
            }
            a href="/ui/agents" { "look who is here" } " and try an agent yourself."
        }
        details #places {
            summary { "What is where" }
            dl {
                dt { "Chat" } dd { "Conversations with Cortex, the part of the hub that finds the right agents for what you say." }
                dt { "Agents" } dd { "Who is here and what each can do, with a form to try it." }
                dt { "Tasks" } dd { "Every piece of work that one asked of another: who, what, what came of it or why it failed." }
                dt { "Runs" } dd { "Work in several steps, each with what went in and came out. A run can be looked at as it stood at any moment, and forked there." }
                dt { "Teams" } dd { "Agents and workflows that are written as files, and whether their rules were kept." }
                dt { "Mailboxes" } dd { "What waits for agents, and what was given up: to be delivered again or dropped." }
                dt { "Events" } dd { "Everything that happens, as it happens." }
            }
        }
    }
}
