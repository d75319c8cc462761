//! A journal in PostgreSQL, for drivers on several machines.

mod connections;
mod schema;
mod statements;
#[cfg(test)]
mod tests;
mod values;

use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::types::ToSql;

use self::connections::{Connections, in_time, unavailable, within};
use self::values::{LONGEST, Written, event, listed, seconds};
use super::{
    Claim, Entry, Filter, Journal, JournalError, ListedRun, OpenedRun, ProgressSize,
    listing::Heading,
    rows::{self, Encoded, signed, unsigned},
};
use crate::{event::RunEvent, id::RunId};

/// Runs compacted or deleted per transaction.
const FORGOTTEN_AT_ONCE: i64 = 64;

/// A journal in PostgreSQL. Its clock is the server's. Calls time out after 10 s; connections are re-established
/// automatically.
#[derive(Debug)]
pub struct PostgresJournal {
    connections: Connections,
}

impl PostgresJournal {
    /// Opens the journal in this database (`postgres://user@host/database`, or `host=… user=… dbname=…`; without TLS),
    /// and creates missing tables.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`] if the string cannot be parsed, the server does not answer, or the tables are a later
    /// release's.
    pub async fn open(connection: &str) -> Result<Self, JournalError> {
        let journal = Self {
            connections: Connections::new(connection)?,
        };
        let client = in_time(journal.connections.client()).await?;
        schema::prepare(&client).await?;
        drop(client);
        Ok(journal)
    }

    /// The events of a run up to the last one, without its progress.
    async fn steps(
        &self,
        run: &RunId,
        id: i64,
        last: u64,
        progress: ProgressSize,
    ) -> Result<Vec<Entry>, JournalError> {
        let found = self.connections.query(statements::STEPS, &[&id]).await?;
        let entries = rows::without_progress(run, found.iter().map(event))?;
        let until = found.last().map(|row| row.get(0));
        if !rows::are_all(found.len(), until, progress, last) {
            let places = self.connections.query(statements::PLACES, &[&id]).await?;
            if let Some(seq) = rows::gap(places.iter().map(|row| row.get(0)), last) {
                return Err(rows::missing(run, seq));
            }
        }
        Ok(entries)
    }

    /// Compacts or deletes old runs in batches. Returns their number.
    async fn in_portions(
        &self,
        sql: &str,
        owner: &str,
        age: Duration,
    ) -> Result<u64, JournalError> {
        let with: [&(dyn ToSql + Sync); 3] = [&seconds(age), &FORGOTTEN_AT_ONCE, &owner];
        let mut count = 0;
        loop {
            let some = in_time(self.connections.execute(sql, &with)).await?;
            count += some;
            if some == 0 {
                return Ok(count);
            }
        }
    }

    /// The error for a statement that changed nothing.
    async fn refusal(&self, run: &RunId) -> JournalError {
        match self
            .connections
            .query(statements::ID, &[&run.as_str()])
            .await
        {
            Ok(found) if found.is_empty() => JournalError::NotFound(run.clone()),
            Ok(_) => JournalError::Fenced(run.clone()),
            Err(error) => error,
        }
    }

    /// The error for a run that cannot be leased.
    async fn holder(&self, run: &RunId) -> JournalError {
        match self
            .connections
            .query(statements::HOLDER, &[&run.as_str()])
            .await
        {
            Ok(found) => match found.first() {
                None => JournalError::NotFound(run.clone()),
                Some(row) => JournalError::Leased {
                    run: run.clone(),
                    driver: row.get(0),
                    left: Duration::from_secs_f64(row.get::<_, f64>(1).clamp(0.0, LONGEST)),
                },
            },
            Err(error) => error,
        }
    }
}

#[async_trait]
impl Journal for PostgresJournal {
    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        let name = run.as_str();
        let lease = seconds(claim.lease);
        in_time(async {
            if let Some(started) = first.first() {
                let events = Encoded::all(first);
                let written = Written::of(&events);
                let heading = Heading::of(started);
                let last = first.len() as u64;
                let made = self
                    .connections
                    .execute(
                        statements::MAKE,
                        &[
                            &name,
                            &owner,
                            &claim.driver,
                            &lease,
                            &written.texts,
                            &heading.strategy,
                            &heading.thread,
                            &signed(heading.started_ms),
                            &rows::summary(None, 0, &events),
                            &signed(last),
                        ],
                    )
                    .await?;
                if made == last {
                    let entries = (1..).zip(first.iter().cloned());
                    return Ok(OpenedRun {
                        epoch: 1,
                        entries: entries.map(|(seq, event)| Entry { seq, event }).collect(),
                        last,
                        progress: ProgressSize::default(),
                        is_new: true,
                    });
                }
            }
            let taken = self
                .connections
                .query(statements::TAKE, &[&name, &claim.driver, &lease])
                .await?;
            let Some(taken) = taken.first() else {
                return Err(self.holder(run).await);
            };
            let last = unsigned(taken.get(2));
            let progress = ProgressSize {
                pieces: unsigned(taken.get(3)),
                bytes: unsigned(taken.get(4)),
            };
            Ok(OpenedRun {
                epoch: unsigned(taken.get(1)),
                entries: self.steps(run, taken.get(0), last, progress).await?,
                last,
                progress,
                is_new: false,
            })
        })
        .await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        let events = Encoded::all(events);
        let written = Written::of(&events);
        in_time(async {
            let name = run.as_str();
            let place: [&(dyn ToSql + Sync); 3] = [&name, &signed(epoch), &signed(after)];
            let summary = self.connections.query(statements::SUMMARY, &place).await?;
            let Some(summary) = summary.first() else {
                return Err(self.refusal(run).await);
            };
            let summary = rows::summary(summary.get(0), after, &events);
            let held = self
                .connections
                .query(
                    statements::APPEND,
                    &[
                        &name,
                        &signed(epoch),
                        &signed(after),
                        &written.texts,
                        &signed(events.len() as u64),
                        &written.end,
                        &written.are_progress,
                        &written.pieces,
                        &written.bytes,
                        &summary,
                    ],
                )
                .await?;
            match held.first().map(|row| row.get::<_, i64>(0)) {
                Some(1) => Ok(()),
                _ => Err(self.refusal(run).await),
            }
        })
        .await
    }

    async fn add(&self, run: &RunId, owner: &str, events: &[RunEvent]) -> Result<(), JournalError> {
        let heading = events.first().map(Heading::of).unwrap_or_default();
        let events = Encoded::all(events);
        let written = Written::of(&events);
        let with: [&(dyn ToSql + Sync); 12] = [
            &run.as_str(),
            &owner,
            &heading.strategy,
            &heading.thread,
            &signed(heading.started_ms),
            &written.texts,
            &signed(events.len() as u64),
            &written.end,
            &written.are_progress,
            &written.pieces,
            &written.bytes,
            &rows::summary(None, 0, &events),
        ];
        in_time(self.connections.execute(statements::ADD, &with)).await?;
        Ok(())
    }

    async fn close(
        &self,
        run: &RunId,
        claim: Claim<'_>,
        end: &RunEvent,
    ) -> Result<(), JournalError> {
        let end = [Encoded::new(end)];
        let Written {
            texts, end: state, ..
        } = Written::of(&end);
        in_time(async {
            let found = self
                .connections
                .query(statements::LAST, &[&run.as_str()])
                .await?;
            let Some(found) = found.first() else {
                return Err(JournalError::NotFound(run.clone()));
            };
            let last: i64 = found.get(0);
            let summary = rows::summary(found.get(1), unsigned(last), &end);
            let with: [&(dyn ToSql + Sync); 6] = [
                &run.as_str(),
                &claim.driver,
                &texts[0],
                &state,
                &last,
                &summary,
            ];
            match self.connections.execute(statements::CLOSE, &with).await? {
                0 => match self
                    .connections
                    .query(statements::ENDED, &[&run.as_str()])
                    .await?
                    .first()
                {
                    Some(_) => Ok(()),
                    None => Err(self.holder(run).await),
                },
                _ => Ok(()),
            }
        })
        .await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        let with: [&(dyn ToSql + Sync); 3] = [&run.as_str(), &signed(epoch), &seconds(lease)];
        in_time(async {
            match self.connections.execute(statements::RENEW, &with).await? {
                0 => Err(self.refusal(run).await),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn release(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        let with: [&(dyn ToSql + Sync); 2] = [&run.as_str(), &signed(epoch)];
        in_time(self.connections.execute(statements::RELEASE, &with)).await?;
        Ok(())
    }

    async fn take_in(&self, run: &RunId, task: &str, result: &str) -> Result<bool, JournalError> {
        let with: [&(dyn ToSql + Sync); 3] = [&run.as_str(), &task, &result];
        let found = in_time(self.connections.query(statements::TAKE_IN, &with)).await?;
        Ok(!found.is_empty())
    }

    async fn taken_in(&self, run: &RunId, task: &str) -> Result<Option<String>, JournalError> {
        let with: [&(dyn ToSql + Sync); 2] = [&run.as_str(), &task];
        let found = in_time(self.connections.query(statements::TAKEN_IN, &with)).await?;
        Ok(found.first().map(|row| row.get(0)))
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        in_time(async {
            let found = self
                .connections
                .query(statements::ID, &[&run.as_str()])
                .await?;
            let Some(found) = found.first() else {
                return Err(JournalError::NotFound(run.clone()));
            };
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let with: [&(dyn ToSql + Sync); 3] = [&found.get::<_, i64>(0), &signed(after), &limit];
            let found = self.connections.query(statements::EVENTS, &with).await?;
            rows::entries(run, after, found.iter().map(event))
        })
        .await
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let with: [&(dyn ToSql + Sync); 3] = [&owner, &driver, &limit];
        let found = in_time(self.connections.query(statements::ADOPTABLE, &with)).await?;
        Ok(found
            .iter()
            .map(|row| RunId::new(row.get::<_, String>(0)))
            .collect())
    }

    async fn list(&self, filter: &Filter) -> Result<Vec<ListedRun>, JournalError> {
        let before = filter.before_number()?.map(signed);
        let states: Vec<&str> = filter.states.iter().map(|s| s.as_str()).collect();
        let limit = signed(filter.limit() as u64);
        let with: [&(dyn ToSql + Sync); 8] = [
            &filter.owner,
            &filter.thread,
            &filter.strategies,
            &states,
            &before,
            &limit,
            &filter.top_only,
            &filter.prefix,
        ];
        let query = statements::list(filter.asks);
        let found = in_time(self.connections.query(&query, &with)).await?;
        Ok(found.iter().map(listed).collect())
    }

    async fn condense(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        self.in_portions(statements::CONDENSE, owner, age).await
    }

    async fn forget(&self, owner: &str, age: Duration) -> Result<u64, JournalError> {
        self.in_portions(statements::FORGET, owner, age).await
    }
}
