//! Whose runs may this caller see and answer? A run that it may not see is as one that does not exist.

use std::{sync::Arc, time::Instant};

use agenthub_access::{Action, Caller, decide};
use agenthub_sdk::runs::RunId;

use super::{Inner, error::Error, reading::Shelf, resources::RunView};

/// A caller that asks about runs. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Viewer(pub(super) Arc<Caller>);

impl Viewer {
    /// The principal on whose behalf the caller starts runs; empty on a hub without identities.
    pub(super) fn principal(&self) -> &str {
        self.0.named().unwrap_or_default()
    }

    /// An idempotency key among those of all principals: one of another finds no run.
    pub(super) fn key(&self, key: &str) -> String {
        match self.principal() {
            "" => key.to_owned(),
            principal => format!("{principal}\0{key}"),
        }
    }

    /// True if it may see the runs of everyone.
    pub(super) fn sees_all(&self) -> bool {
        decide(&self.0, &Action::SeeAllRuns).is_ok()
    }

    fn is_own(&self, starter: &str) -> bool {
        !starter.is_empty() && starter == self.principal()
    }

    /// True if it may see the runs on behalf of this principal.
    pub(super) fn sees(&self, starter: &str) -> bool {
        self.is_own(starter) || self.sees_all()
    }

    /// True if it may answer what runs on behalf of this principal ask.
    pub(super) fn answers(&self, starter: &str) -> bool {
        self.may_answer(starter).is_ok()
    }

    /// # Errors
    ///
    /// The sentence for a caller who may not answer what runs on behalf of this principal ask.
    fn may_answer(&self, starter: &str) -> Result<(), String> {
        let is_own = self.is_own(starter);
        decide(&self.0, &Action::Approve { is_own })
    }
}

/// A run as it was found for a caller. What is done for the caller is done with it, so that an id is looked up once.
#[derive(Clone, Debug)]
pub(super) struct FoundRun {
    pub(super) run: RunId,
    /// The journal that has it; `None` of a run that has not begun.
    pub(super) shelf: Option<Shelf>,
    /// The principal on whose behalf it is, empty if none is known; `None` for a caller who may see the runs of everyone.
    pub(super) starter: Option<String>,
}

impl FoundRun {
    /// True unless a view is of another run, which has the same id in another journal.
    pub(super) fn is_of(&self, view: &RunView) -> bool {
        let starter = self.starter.as_ref();
        starter.is_none_or(|starter| *starter == view.on_behalf_of)
    }
}

impl Inner {
    /// The run that the caller means by an id, or by its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] also for a run that the caller may not see, [`Error::Invalid`] if several of those that it may see begin so,
    /// [`Error::Unavailable`].
    pub(super) async fn find_for(&self, viewer: &Viewer, id: &str) -> Result<FoundRun, Error> {
        self.recent.forget_unused(Instant::now());
        match viewer.sees_all() {
            true => self.find_any(id).await,
            false => self.find_of(id, |starter| viewer.sees(starter)).await,
        }
    }

    /// The same of runs that the caller may answer, and whether it may see the run.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] for a run that the caller may only see, and those of [`find_for`](Self::find_for).
    pub(super) async fn find_to_answer(
        &self,
        viewer: &Viewer,
        id: &str,
    ) -> Result<(FoundRun, bool), Error> {
        if viewer.0.is_unrestricted() {
            return Ok((self.find_any(id).await?, true));
        }
        let is_for = |starter: &str| viewer.sees(starter) || viewer.answers(starter);
        let found = self.find_of(id, is_for).await?;
        let starter = found.starter.as_deref().unwrap_or_default();
        let is_seen = viewer.sees(starter);
        match viewer.may_answer(starter) {
            Ok(()) => Ok((found, is_seen)),
            Err(why) if is_seen => Err(Error::Denied(why)),
            Err(_) => Err(Error::no_run(id)),
        }
    }

    /// The run of this id or beginning, whoever started it.
    async fn find_any(&self, id: &str) -> Result<FoundRun, Error> {
        // Asked first: it may begin while the journals are read.
        let whole = RunId::new(id);
        let is_coming = self.cortex.live().coming(&whole).is_some();
        let (shelf, run) = match self.find(id).await {
            Ok((shelf, run)) => (Some(shelf), run),
            Err(Error::NotFound { .. }) if is_coming => (None, whole),
            Err(error) => return Err(error),
        };
        Ok(FoundRun {
            run,
            shelf,
            starter: None,
        })
    }

    /// The same of those that `is_for` takes, by the principal on whose behalf they are.
    async fn find_of(&self, id: &str, is_for: impl Fn(&str) -> bool) -> Result<FoundRun, Error> {
        let run = RunId::new(id);
        let coming = self.cortex.live().coming(&run);
        if let Some(found) = self.find_among(id, &is_for).await? {
            return Ok(found);
        }
        let starter = coming.map(|coming| coming.asked.on_behalf_of);
        let starter = starter.filter(|starter| is_for(starter));
        Ok(FoundRun {
            run,
            shelf: None,
            starter: Some(starter.ok_or_else(|| Error::no_run(id))?),
        })
    }

    /// The journal that has a run. One that had not begun may have begun since.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn recorded(&self, found: &FoundRun) -> Result<(Shelf, RunId), Error> {
        match &found.shelf {
            Some(shelf) => Ok((shelf.clone(), found.run.clone())),
            None => self.find_whole(found.run.clone()).await,
        }
    }

    /// The same, once the run has begun: one that is on its way is waited for. Callers bound the time.
    ///
    /// # Errors
    ///
    /// As [`recorded`](Self::recorded).
    pub(super) async fn once_begun(&self, found: &FoundRun) -> Result<(Shelf, RunId), Error> {
        let live = self.cortex.live();
        let mut watched = live.watch(&found.run);
        loop {
            let is_coming = live.coming(&found.run).is_some();
            match self.recorded(found).await {
                Err(Error::NotFound { .. }) if is_coming => watched.more_than(0).await,
                recorded => return recorded,
            }
        }
    }

    /// A run as it stands.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn view_of(&self, found: &FoundRun) -> Result<RunView, Error> {
        let over = self.over.get(&found.run);
        if let Some(view) = over.filter(|view| found.is_of(view)) {
            return Ok(view);
        }
        let view = match &found.shelf {
            Some(shelf) => self.read_view(shelf, &found.run).await?,
            None => self.get(found.run.as_str()).await?,
        };
        match found.is_of(&view) {
            true => Ok(view),
            false => Err(Error::no_run(found.run.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_access::{Namespace, Policy};

    use super::*;

    const POLICY: &str = r#"
        [roles.four-eyes]
        extends = ["user"]
        deny = ["approve:own"]

        [roles.approver]
        allow = ["approve:others"]
    "#;

    fn viewer(name: &str, role: &str) -> Viewer {
        let policy = Policy::of_toml(POLICY).expect("right");
        let principal = name.parse().expect("a name");
        Viewer(Arc::new(policy.caller(
            &principal,
            &Namespace::default(),
            &[role.to_owned()],
            &[],
        )))
    }

    /// Issue 25: approve (not one's own, if so set).
    #[test]
    fn runs_are_seen_and_answered_by_who_started_them_and_by_whom_a_rule_allows() {
        for (role, own, others, old) in [
            ("user", "sa", "--", "--"),
            ("four-eyes", "s-", "--", "--"),
            ("approver", "s-", "-a", "-a"),
            ("operator", "sa", "sa", "sa"),
            ("admin", "sa", "sa", "sa"),
        ] {
            let viewer = viewer("alice", role);
            for (starter, expected) in [("alice", own), ("bob", others), ("", old)] {
                let seen = if viewer.sees(starter) { 's' } else { '-' };
                let answered = if viewer.answers(starter) { 'a' } else { '-' };
                let found = [seen, answered].iter().collect::<String>();
                assert_eq!(found, expected, "{role} {starter}");
            }
        }
        let everyone = Viewer(Caller::shared_anonymous());
        assert!(
            ["", "alice"]
                .iter()
                .all(|s| everyone.sees(s) && everyone.answers(s))
        );
        assert_eq!(everyone.principal(), "");
    }
}
