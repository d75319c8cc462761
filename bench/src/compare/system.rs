//! Compared systems, and their start.

use std::{net::SocketAddr, path::Path, process::Command};

use super::{
    programs::Programs,
    server::{Server, free},
};
use crate::program::unset;

/// A system under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum System {
    /// The hub without a disk; publishes may be lost.
    HubMemory,
    /// The hub that answers a publish once it is on the disk.
    HubSynced,
    /// The hub without a disk, with TLS.
    HubTls,
    /// NATS without JetStream.
    NatsCore,
    /// The same with TLS.
    NatsTls,
    /// NATS JetStream with its file store, which syncs at intervals.
    JetStream,
    /// Redis PUBLISH and SUBSCRIBE.
    RedisPubSub,
    /// Redis XADD and XREAD, without a disk.
    RedisStreams,
    /// Bytes over TCP, read once and written to all: the minimum.
    Floor,
}

impl System {
    pub(super) const ALL: [Self; 7] = [
        Self::HubMemory,
        Self::HubSynced,
        Self::NatsCore,
        Self::JetStream,
        Self::RedisPubSub,
        Self::RedisStreams,
        Self::Floor,
    ];

    /// Display name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HubMemory => "AgentHub (memory)",
            Self::HubSynced => "AgentHub (synced)",
            Self::HubTls => "AgentHub (TLS)",
            Self::NatsCore => "NATS core",
            Self::NatsTls => "NATS core (TLS)",
            Self::JetStream => "JetStream (file)",
            Self::RedisPubSub => "Redis pub/sub",
            Self::RedisStreams => "Redis streams",
            Self::Floor => "raw TCP",
        }
    }

    /// The system that is the same but for TLS.
    pub(super) fn plain(self) -> Self {
        match self {
            Self::HubTls => Self::HubMemory,
            Self::NatsTls => Self::NatsCore,
            system => system,
        }
    }

    /// True if clients speak TLS with it.
    pub(super) fn is_tls(self) -> bool {
        self != self.plain()
    }

    /// True if its program is available.
    pub(super) fn is_here(self, programs: &Programs) -> bool {
        match self {
            Self::HubMemory | Self::HubSynced | Self::HubTls | Self::Floor => true,
            Self::NatsCore | Self::NatsTls | Self::JetStream => programs.nats.is_some(),
            Self::RedisPubSub | Self::RedisStreams => programs.redis.is_some(),
        }
    }

    /// Starts a server in the folder.
    ///
    /// # Errors
    ///
    /// See [`Server::start`].
    pub(super) async fn start(self, programs: &Programs, folder: &Path) -> anyhow::Result<Server> {
        let address = free()?;
        let port = address.port().to_string();
        let command = match self {
            Self::HubMemory | Self::HubSynced | Self::HubTls => {
                self.hub(programs, folder, address, "127.0.0.1:0")
            }
            Self::NatsCore | Self::NatsTls | Self::JetStream => {
                let mut nats = Command::new(programs.nats.as_deref().unwrap_or(Path::new("")));
                nats.args(["-a", "127.0.0.1", "-p", &port]);
                if self == Self::NatsTls {
                    let [cert, key] = programs.certificates.server();
                    nats.arg("--tls").arg("--tlscert").arg(cert);
                    nats.arg("--tlskey").arg(key);
                }
                if self == Self::JetStream {
                    nats.arg("-js").arg("-sd").arg(folder.join("data"));
                }
                nats
            }
            Self::RedisPubSub | Self::RedisStreams => {
                let mut redis = Command::new(programs.redis.as_deref().unwrap_or(Path::new("")));
                redis.args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
                redis.args(["--appendonly", "no", "--client-output-buffer-limit"]);
                redis.arg("pubsub 1gb 1gb 60");
                redis
            }
            Self::Floor => {
                let mut floor = Command::new(&programs.own);
                floor.args(["floor", "--listen"]).arg(address.to_string());
                floor
            }
        };
        Server::start(command, address, folder).await
    }

    /// The command that starts a hub in the folder, on these addresses; in memory unless this is the synced hub.
    pub(super) fn hub(
        self,
        programs: &Programs,
        folder: &Path,
        grpc: SocketAddr,
        http: &str,
    ) -> Command {
        let mut hub = unset(&programs.hub);
        hub.args([
            "broker", "--json", "--log", "warn", "--http", http, "--grpc",
        ]);
        hub.arg(grpc.to_string());
        match self {
            Self::HubSynced => hub.arg("--data").arg(folder.join("data")),
            _ => hub.arg("--ephemeral"),
        };
        if self == Self::HubTls {
            let [cert, key] = programs.certificates.server();
            hub.arg("--tls-cert").arg(cert).arg("--tls-key").arg(key);
        }
        hub
    }
}
