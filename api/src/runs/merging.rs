//! The runs of several journals in one list, latest first, page by page.

use std::collections::{BTreeMap, VecDeque};

use agenthub_sdk::runs::journal::{Filter, ListedRun};

use super::{error::Error, reading::Shelf, resources::ListQuery};

/// A list of the runs of several journals.
pub(super) struct Merge {
    sources: Vec<Source>,
}

/// One of them.
struct Source {
    name: String,
    shelf: Shelf,
    filter: Filter,
    /// Runs that were read of it and not given yet.
    ahead: VecDeque<ListedRun>,
    is_all: bool,
    /// Place of the last run that was given.
    given: Option<String>,
}

impl Merge {
    /// The runs that a query takes, as far as journals know. `step` is how many are read of each at one time.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a page token that is none.
    pub(super) fn new(
        shelves: Vec<(String, Shelf)>,
        query: &ListQuery,
        step: usize,
    ) -> Result<Self, Error> {
        let mut places = match &query.page_token {
            None => BTreeMap::new(),
            Some(token) => parse(token).ok_or_else(|| invalid(token))?,
        };
        let sources = shelves.into_iter().map(|(name, shelf)| {
            let given = places.remove(&name);
            Source {
                filter: Filter {
                    owner: Some(shelf.owner.clone()).filter(|owner| !owner.is_empty()),
                    before: given.clone(),
                    ..query.filter(step)
                },
                name,
                shelf,
                ahead: VecDeque::new(),
                is_all: false,
                given,
            }
        });
        Ok(Self {
            sources: sources.collect(),
        })
    }

    /// The next one, and where it is.
    pub(super) async fn next(&mut self) -> Result<Option<(Shelf, ListedRun)>, Error> {
        self.look_ahead().await?;
        let latest = self.sources.iter_mut().max_by(|one, two| {
            let place = |source: &Source| {
                let next = source.ahead.front()?;
                Some((next.started_ms, next.run.clone()))
            };
            place(one).cmp(&place(two))
        });
        let Some(source) = latest else {
            return Ok(None);
        };
        let Some(listed) = source.ahead.pop_front() else {
            return Ok(None);
        };
        source.given = Some(listed.cursor.clone());
        let shelf = Shelf {
            owner: listed.owner.clone(),
            ..source.shelf.clone()
        };
        Ok(Some((shelf, listed)))
    }

    /// True if there is a next one.
    pub(super) async fn has_more(&mut self) -> Result<bool, Error> {
        self.look_ahead().await?;
        Ok(self.sources.iter().any(|source| !source.ahead.is_empty()))
    }

    /// Place of the last run that was given.
    pub(super) fn token(&self) -> String {
        let places = self.sources.iter().filter_map(|source| {
            let given = source.given.as_ref()?;
            Some(format!("{}:{given}", source.name))
        });
        places.collect::<Vec<_>>().join(".")
    }

    async fn look_ahead(&mut self) -> Result<(), Error> {
        for source in &mut self.sources {
            if source.is_all || !source.ahead.is_empty() {
                continue;
            }
            let listed = match source.shelf.list(&source.filter).await {
                Ok(listed) => listed,
                Err(error @ Error::Invalid { .. }) => return Err(error),
                Err(error) if source.name.is_empty() => return Err(error),
                // What others write down may not be there for a while.
                Err(error) => {
                    tracing::warn!(name = source.name, %error, "a journal cannot be listed");
                    Vec::new()
                }
            };
            source.is_all = listed.len() < source.filter.limit;
            if let Some(last) = listed.last() {
                source.filter.before = Some(last.cursor.clone());
            }
            source.ahead.extend(listed);
        }
        Ok(())
    }
}

/// The place in each journal, by name.
fn parse(token: &str) -> Option<BTreeMap<String, String>> {
    let places = token.split('.').map(|place| {
        let (name, cursor) = place.split_once(':')?;
        Some((name.to_owned(), cursor.to_owned()))
    });
    places.collect()
}

fn invalid(token: &str) -> Error {
    Error::Invalid {
        at: "pageToken".to_owned(),
        why: format!("is {token:?}, which no list has given"),
    }
}
