//! Connections to PostgreSQL, and the deadline of calls over them.

use std::{error::Error as _, sync::Arc, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls, Row, config::SslMode, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::JournalError;

/// Timeout of a call, connecting included.
const DEADLINE: Duration = Duration::from_secs(10);

/// Maximum connections; callers wait for a free one.
const CONNECTIONS: usize = 8;

/// A pool of connections. They are re-established automatically.
#[derive(Debug)]
pub(super) struct Connections(Pool);

impl Connections {
    /// Connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`] if the string cannot be parsed.
    pub(super) fn new(connection: &str) -> Result<Self, JournalError> {
        let mut config: Config = connection.parse().map_err(|error| unavailable(&error))?;
        let options = config.get_options().unwrap_or_default();
        // Abandoned statements are ended by the server, and confirmed commits are on disk, whatever the server's
        // default.
        let options = format!(
            "{options} -c statement_timeout={} -c synchronous_commit=on",
            DEADLINE.as_millis()
        );
        config.options(options);
        config.connect_timeout(DEADLINE);
        config.tcp_user_timeout(DEADLINE);
        if config.get_application_name().is_none() {
            config.application_name("agenthub");
        }
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = match config.get_ssl_mode() {
            SslMode::Require => Manager::from_config(config, tls(), recycling),
            _ => Manager::from_config(config, NoTls, recycling),
        };
        Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| JournalError::Unavailable(error.to_string()))
            .map(Self)
    }

    pub(super) async fn client(&self) -> Result<Object, JournalError> {
        self.0.get().await.map_err(|error| match error {
            deadpool_postgres::PoolError::Backend(error) => unavailable(&error),
            error => JournalError::Unavailable(error.to_string()),
        })
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, JournalError> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await;
        let statement = statement.map_err(|error| unavailable(&error))?;
        let rows = client.query(&statement, with).await;
        rows.map_err(|error| unavailable(&error))
    }

    pub(super) async fn execute(
        &self,
        sql: &str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, JournalError> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await;
        let statement = statement.map_err(|error| unavailable(&error))?;
        let changed = client.execute(&statement, with).await;
        changed.map_err(|error| unavailable(&error))
    }
}

/// TLS with servers whose certificates this system trusts, or the file that `SSL_CERT_FILE` names.
fn tls() -> MakeRustlsConnect {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a certificate of this system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

/// The result of a call within [`DEADLINE`].
pub(super) async fn in_time<T>(
    call: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    within(DEADLINE, call).await
}

/// The result of a call within this time.
pub(super) async fn within<T>(
    time: Duration,
    call: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    match timeout(time, call).await {
        Ok(result) => result,
        Err(_) => Err(JournalError::Unavailable(format!(
            "PostgreSQL has not answered for {} s",
            time.as_secs()
        ))),
    }
}

/// Includes the source: `Display` of the driver's error is only "db error".
pub(super) fn unavailable(error: &tokio_postgres::Error) -> JournalError {
    JournalError::Unavailable(match error.source() {
        Some(source) => format!("PostgreSQL: {error}: {source}"),
        None => format!("PostgreSQL: {error}"),
    })
}
