//! Records that are written together: readers of committed records see all of them or none, and each once.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rdkafka::{
    error::KafkaError,
    message::{Header as WireHeader, OwnedHeaders},
    producer::{FutureProducer, FutureRecord, Producer as _},
    types::RDKafkaErrorCode as Code,
};
use tokio::task::spawn_blocking;

use super::{KafkaBus, failure::failure, settings::ANSWER};
use crate::{BusError, NewRecord};

/// Deadline of one call of the client, after which it is asked again, unless its work was given up.
const CALL: Duration = Duration::from_secs(2);

/// Deadline of the first word with the coordinator of transactions.
const BEGIN: Duration = Duration::from_secs(30);

/// Pause before records are written again.
const PAUSE: Duration = Duration::from_millis(500);

/// Interval at which it is said that Kafka is still waited for.
const REMINDER: Duration = Duration::from_secs(30);

/// A writer of transactions under an id. Once it has begun, an earlier writer of the same id writes nothing more, and what that one had not
/// committed is gone.
pub struct Transactions {
    id: String,
    producer: FutureProducer,
    given_up: Arc<AtomicBool>,
}

/// The end of one try to write records.
enum Failed {
    /// None of them is written, and none will be. The next try may succeed.
    Aborted(BusError),
    /// This writer writes nothing more.
    Ended(BusError),
}

impl KafkaBus {
    /// Begins to write transactions under this id, and ends those of an earlier writer of the id.
    ///
    /// # Errors
    ///
    /// [`BusError`]; within 30 s.
    pub async fn transactions(&self, id: &str) -> Result<Transactions, BusError> {
        let producer: FutureProducer = self
            .settings
            .transactional_producer(id)?
            .create()
            .map_err(failure)?;
        let beginning = producer.clone();
        let until = Instant::now() + BEGIN;
        let begun = spawn_blocking(move || {
            loop {
                match beginning.init_transactions(CALL) {
                    Ok(()) => return Ok(()),
                    Err(error) if is_retriable(&error) && Instant::now() < until => {}
                    Err(error) => return Err(failure(error)),
                }
            }
        });
        begun.await.map_err(gone)??;
        Ok(Transactions {
            id: id.to_owned(),
            producer,
            given_up: Arc::default(),
        })
    }
}

impl Transactions {
    /// Writes records in one transaction, in their order, as often as it takes while Kafka is away. The topics are there. Dropping the future
    /// gives this writer up: it writes nothing more, and whether these records are written is left open.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] if this writer can write nothing more: another one has begun with its id, or Kafka has given its transaction up
    /// or refuses a record. [`BusError::Unavailable`] if this writer was given up.
    pub async fn write(&self, records: impl Into<Arc<[NewRecord]>>) -> Result<(), BusError> {
        let records = records.into();
        let writing = GiveUp(Some(Arc::clone(&self.given_up)));
        let mut said: Option<Instant> = None;
        loop {
            let (producer, given_up) = (self.producer.clone(), Arc::clone(&self.given_up));
            let batch = Arc::clone(&records);
            let tried = spawn_blocking(move || attempt(&producer, &batch, &given_up));
            match tried.await.map_err(gone)? {
                Ok(()) => {
                    writing.done();
                    return Ok(());
                }
                Err(Failed::Ended(error)) => return Err(error),
                Err(Failed::Aborted(error @ BusError::Refused(_))) => return Err(error),
                Err(Failed::Aborted(error)) => {
                    if said.is_none_or(|at| at.elapsed() >= REMINDER) {
                        said = Some(Instant::now());
                        tracing::warn!(id = self.id, %error, "records wait for Kafka");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

impl fmt::Debug for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transactions")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Gives a writer up when it is dropped before its work is done.
struct GiveUp(Option<Arc<AtomicBool>>);

impl GiveUp {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        if let Some(given_up) = &self.0 {
            given_up.store(true, Ordering::Release);
        }
    }
}

/// Tries to write records. Blocks until it is known whether they are written.
fn attempt(
    producer: &FutureProducer,
    records: &[NewRecord],
    given_up: &AtomicBool,
) -> Result<(), Failed> {
    if given_up.load(Ordering::Acquire) {
        return Err(Failed::Ended(unfinished()));
    }
    producer
        .begin_transaction()
        .map_err(|error| Failed::Ended(refused(&error)))?;
    let mut refusals = Vec::new();
    for record in records {
        match send(producer, record, given_up) {
            Ok(delivered) => refusals.push(delivered),
            Err(error) => return Err(abort(producer, error, given_up)),
        }
    }
    loop {
        match producer.commit_transaction(CALL) {
            Ok(()) => return Ok(()),
            Err(error) if ends_writer(&error) => return Err(Failed::Ended(refused(&error))),
            Err(error) if is_retriable(&error) => {
                if given_up.load(Ordering::Acquire) {
                    return Err(Failed::Ended(unfinished()));
                }
            }
            Err(error) => {
                // The reason is with the record that was not delivered.
                let first = refusals
                    .into_iter()
                    .filter_map(|delivered| {
                        match futures_util::FutureExt::now_or_never(delivered) {
                            Some(Ok(Err((error, _)))) => Some(error),
                            _ => None,
                        }
                    })
                    .find(|error| !is_purged(error));
                return Err(abort(producer, first.unwrap_or(error), given_up));
            }
        }
    }
}

fn send(
    producer: &FutureProducer,
    record: &NewRecord,
    given_up: &AtomicBool,
) -> Result<rdkafka::producer::DeliveryFuture, KafkaError> {
    let headers = record
        .headers
        .iter()
        .fold(OwnedHeaders::new(), |headers, header| {
            headers.insert(WireHeader {
                key: &header.name,
                value: Some(&*header.value),
            })
        });
    let mut wire = FutureRecord::<[u8], [u8]>::to(&record.topic).headers(headers);
    wire.key = record.key.as_deref();
    wire.payload = record.body.as_deref();
    loop {
        match producer.send_result(wire) {
            Ok(delivered) => return Ok(delivered),
            Err((error, back)) => {
                let is_full = error.rdkafka_error_code() == Some(Code::QueueFull);
                if !is_full || given_up.load(Ordering::Acquire) {
                    return Err(error);
                }
                wire = back;
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Takes the transaction back.
fn abort(producer: &FutureProducer, why: KafkaError, given_up: &AtomicBool) -> Failed {
    loop {
        match producer.abort_transaction(CALL) {
            Ok(()) => return Failed::Aborted(failure(why)),
            Err(error) if is_retriable(&error) && !given_up.load(Ordering::Acquire) => {}
            Err(error) => return Failed::Ended(refused(&error)),
        }
    }
}

/// True if the same call may be made again.
fn is_retriable(error: &KafkaError) -> bool {
    match error {
        KafkaError::Transaction(error) => error.is_retriable(),
        KafkaError::Flush(code) => *code == Code::OperationTimedOut,
        _ => false,
    }
}

fn ends_writer(error: &KafkaError) -> bool {
    match error {
        KafkaError::Transaction(error) => error.is_fatal(),
        error => error.rdkafka_error_code() == Some(Code::Fatal),
    }
}

/// True if a record was not delivered because others were not.
fn is_purged(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(Code::PurgeQueue | Code::PurgeInflight)
    )
}

fn refused(error: &KafkaError) -> BusError {
    let fenced = matches!(
        error.rdkafka_error_code(),
        Some(
            Code::Fenced
                | Code::ProducerFenced
                | Code::InvalidProducerEpoch
                | Code::InvalidProducerIdMapping
        )
    );
    BusError::Refused(match fenced {
        true => format!(
            "another writer has taken over, or Kafka has given up a transaction that took too long ({error})"
        ),
        false => error.to_string(),
    })
}

fn unfinished() -> BusError {
    BusError::Unavailable(format!(
        "its writer was given up; what it had not committed is taken back within {} s",
        ANSWER.as_secs() * 6
    ))
}

fn gone(error: tokio::task::JoinError) -> BusError {
    BusError::Unavailable(error.to_string())
}
