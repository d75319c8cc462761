//! The settings: defaults, then `agenthub.toml`, then the environment, then flags.

mod a2a;
mod ended_tasks;
mod environment;
mod fault;
mod file;
mod hub;
mod keep_runs;
mod layers;
mod tools;

use std::path::{Path, PathBuf};

use agenthub_mcp::toolshed::{Names, Servers};
use agenthub_sdk::model::LanguageModel;
use agenthub_terminal::{
    Listen,
    calls::{DEFAULT_DATA, DEFAULT_HUB},
};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

pub(crate) use self::a2a::A2a;
pub(crate) use self::ended_tasks::EndedTasks;
use self::file::File;
pub(crate) use self::keep_runs::KeepRuns;
pub(crate) use self::tools::Sop;
use crate::cassette::{self, Cassette};

/// The settings file that is read if there is one.
const FILE: &str = "agenthub.toml";

/// The model that needs nothing.
pub(crate) const OFFLINE: &str = "offline";

/// Settings of everything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The hub's address.
    pub(crate) hub: String,
    /// Address of gRPC.
    pub(crate) grpc: Listen,
    /// Address of HTTP.
    pub(crate) http: Listen,
    /// Folder of files; see [`data`](Self::data).
    data: PathBuf,
    ephemeral: bool,
    /// Other machines may reach the hub.
    pub(crate) insecure: bool,
    /// Log filter, if one was set.
    #[serde(default)]
    pub(crate) log: Option<String>,
    /// Ended tasks that the hub keeps.
    #[serde(default)]
    pub(crate) ended_tasks: EndedTasks,
    /// MiB of waiting mail that the hub has in memory, if that was said.
    #[serde(default)]
    pub(crate) bodies_mib: Option<u32>,
    /// Days after which an absent agent leaves the directory, if that was said; 0 is never.
    #[serde(default)]
    pub(crate) away_agents_days: Option<u32>,
    /// Seconds that an agent may be away before its work is called back, if that was said.
    #[serde(default)]
    pub(crate) away_grace_seconds: Option<u32>,
    /// Retention of the runs of agents once they are over.
    #[serde(default)]
    pub(crate) keep_runs: KeepRuns,
    /// The model that decides.
    pub(crate) model: Model,
    /// The MCP servers, by their names.
    #[serde(default, rename = "mcp")]
    pub(crate) servers: Servers,
    /// Further names for tools and agents.
    #[serde(default, rename = "tools")]
    pub(crate) names: Names,
    /// Settings of folders of SOPs.
    #[serde(default)]
    pub(crate) sop: Sop,
    /// Settings of A2A.
    #[serde(default)]
    pub(crate) a2a: A2a,
}

/// Settings of the model that decides.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// `provider/model`, or `offline`.
    pub(crate) name: String,
    /// The base URL, where it is not the provider's own.
    #[serde(default)]
    pub(crate) endpoint: Option<String>,
    /// The provider's key; if not given, its usual variable is read.
    #[serde(default)]
    pub(crate) api_key: Option<ApiKey>,
    /// The Google Cloud project.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// The Google Cloud location or AWS region.
    #[serde(default)]
    pub(crate) location: Option<String>,
    /// Recording or replay; the command line alone says so.
    #[serde(skip)]
    pub(crate) cassette: Cassette,
}

impl Model {
    /// The model for an agent that names one itself, unless the command line has named another. An address, key or place that is set
    /// for one provider is not used for another. What is replayed has the name of the model that was recorded.
    pub(crate) fn unless(&self, flag: Option<&str>, own: Option<&str>) -> Self {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let own = own.filter(|_| self.cassette.replayer().is_none());
        match (flag, own) {
            (None, Some(own)) if [OFFLINE, &provider(own)].contains(&&*provider(&self.name)) => {
                Self {
                    name: own.to_owned(),
                    ..self.clone()
                }
            }
            (None, Some(own)) => Self {
                name: own.to_owned(),
                endpoint: None,
                api_key: None,
                project: None,
                location: None,
                cassette: self.cassette.clone(),
            },
            _ => self.clone(),
        }
    }
}

/// A provider's key. It shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct ApiKey(pub(crate) String);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Settings of one source; nothing is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Layer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grpc: Option<Listen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<Listen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ephemeral: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    pub(crate) ended_tasks: EndedTasks,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bodies_mib: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) away_agents_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) away_grace_seconds: Option<u32>,
    pub(crate) keep_runs: KeepRuns,
    pub(crate) model: ModelLayer,
}

/// Settings of the model in one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ModelLayer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    #[serde(skip)]
    pub(crate) cassette: Option<cassette::Wanted>,
}

impl Settings {
    /// The folder for files; `None` if none are to be written.
    pub(crate) fn data(&self) -> Option<&Path> {
        (!self.ephemeral).then_some(self.data.as_path())
    }

    /// The same, but for files: none are written.
    pub(crate) fn without_files(self) -> Self {
        Self {
            ephemeral: true,
            ..self
        }
    }

    /// The settings of this process. `config` is the file that must be there, if one was named.
    pub(crate) fn load(flags: &Layer, config: Option<&Path>) -> anyhow::Result<Self> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = config
            .map(Path::to_path_buf)
            .or_else(|| env("AGENTHUB_CONFIG").map(PathBuf::from));
        let (file, must_be) = match named {
            Some(file) => (file, true),
            None => (PathBuf::from(FILE), false),
        };
        let file = match file.is_file() {
            true => File::read(&file)?,
            false if must_be => bail!("there is no settings file {}", file.display()),
            false => File::default(),
        };
        Self::of(flags, &env, &file)
    }

    /// Settings of a file, without flags and environment.
    #[cfg(test)]
    pub(crate) fn of_text(file: &str) -> anyhow::Result<Self> {
        Self::of(&Layer::default(), &|_| None, &File::of_text(file))
    }

    fn of(
        flags: &Layer,
        env: &dyn Fn(&str) -> Option<String>,
        file: &File,
    ) -> anyhow::Result<Self> {
        let defaults = Layer {
            hub: Some(DEFAULT_HUB.to_owned()),
            grpc: Some(Listen::loopback(50051)),
            http: Some(Listen::loopback(8080)),
            data: Some(PathBuf::from(DEFAULT_DATA)),
            ephemeral: Some(false),
            insecure: Some(false),
            log: None,
            ended_tasks: EndedTasks::default(),
            bodies_mib: None,
            away_agents_days: None,
            away_grace_seconds: None,
            keep_runs: KeepRuns::default(),
            model: ModelLayer {
                name: Some(OFFLINE.to_owned()),
                ..ModelLayer::default()
            },
        };
        let said = file.table().context("in the settings")?;
        let merged = [
            said,
            layers::table(&environment::layer(env)?)?,
            layers::table(flags)?,
        ]
        .into_iter()
        .fold(layers::table(&defaults)?, layers::merged);
        let mut settings: Self = match serde_path_to_error::deserialize(merged) {
            Ok(settings) => settings,
            Err(error) => bail!("in the settings: {}", fault::told(&error, file)),
        };
        settings.model.cassette = Cassette::open(flags.model.cassette.as_ref())?;
        if let Some(replayer) = settings.model.cassette.replayer() {
            replayer.name().clone_into(&mut settings.model.name);
        }
        environment::place(env, &mut settings.model);
        if let Err(error) = agenthub_mcp::toolshed::check(&settings.servers, &settings.names) {
            bail!("in the settings: {error}");
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(flags: Layer, env: &[(&str, &str)], file: &str) -> anyhow::Result<Settings> {
        let get = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::of(&flags, &get, &File::of_text(file))
    }

    fn with_env(env: &[(&str, &str)]) -> Settings {
        load(Layer::default(), env, "").expect("these settings are right")
    }

    #[test]
    fn the_defaults() {
        let settings = with_env(&[]);
        assert_eq!(settings.hub, "http://127.0.0.1:50051");
        assert_eq!(settings.grpc.to_string(), "127.0.0.1:50051");
        assert_eq!(settings.http.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.data(), Some(Path::new("./.agenthub")));
        assert_eq!(settings.model.name, "offline");
        assert!(!settings.insecure);
    }

    #[test]
    fn flags_beat_the_environment_which_beats_the_file() {
        let file = "hub = 'http://file:1'\ngrpc = 7\nlog = 'debug'\n[model]\nname = 'openai/a'\nendpoint = 'http://e'\n";
        let env = [("AGENTHUB_HUB", "http://env:1"), ("AGENTHUB_GRPC", ":8")];
        let flags = Layer {
            hub: Some("http://flag:1".to_owned()),
            ..Layer::default()
        };
        let all = load(flags, &env, file).expect("right");
        assert_eq!(all.hub, "http://flag:1");
        assert_eq!(all.grpc.to_string(), "127.0.0.1:8");
        assert_eq!(all.log.as_deref(), Some("debug"));
        assert_eq!(all.model.name, "openai/a");

        let env = [("AGENTHUB_MODEL", "ollama/b")];
        let two = load(Layer::default(), &env, file).expect("right");
        assert_eq!(two.hub, "http://file:1");
        assert_eq!(two.model.name, "ollama/b");
        assert_eq!(two.model.endpoint.as_deref(), Some("http://e"));
    }

    #[test]
    fn an_absent_agent_is_kept_as_file_environment_and_flags_say() {
        let file = "away_agents_days = 10\n";
        let of_file = load(Layer::default(), &[], file).expect("right");
        assert_eq!(of_file.away_agents_days, Some(10));
        let env = [("AGENTHUB_AWAY_AGENTS_DAYS", "20")];
        let of_env = load(Layer::default(), &env, file).expect("right");
        assert_eq!(of_env.away_agents_days, Some(20));
        let flags = Layer {
            away_agents_days: Some(0),
            ..Layer::default()
        };
        let of_flags = load(flags, &env, file).expect("right");
        assert_eq!(of_flags.away_agents_days, Some(0));
    }

    #[test]
    fn agents_may_be_away_as_long_as_file_environment_and_flags_say() {
        let grace = |flag, env: &[(&str, &str)]| {
            let flags = Layer {
                away_grace_seconds: flag,
                ..Layer::default()
            };
            let settings = load(flags, env, "away_grace_seconds = 10\n").expect("right");
            settings.hub_settings().away_grace.as_secs()
        };
        let env = [("AGENTHUB_AWAY_GRACE_SECONDS", "20")];
        assert_eq!(
            [grace(None, &[]), grace(None, &env), grace(Some(0), &env)],
            [10, 20, 0]
        );
        let unset = load(Layer::default(), &[], "").expect("right");
        assert_eq!(unset.hub_settings().away_grace.as_secs(), 15);
    }

    #[test]
    fn runs_are_kept_as_file_environment_and_flags_say_for_each_agent() {
        let file = "[keep_runs]\ndays = 10\nagents = { writer = 1, qa = 2, cortex = 3 }\n";
        let env = [("AGENTHUB_KEEP_RUNS_DAYS", "20,qa=5, cortex = 6")];
        let flags = Layer {
            keep_runs: KeepRuns::of(["cortex=7".parse().expect("days")]),
            ..Layer::default()
        };
        let all = load(flags, &env, file).expect("right").keep_runs;
        let days = |agent: &str| all.time(agent).map(|time| time.as_secs() / 86_400);
        assert_eq!(days("anyone"), Some(20));
        assert_eq!(days("writer"), Some(1));
        assert_eq!(days("qa"), Some(5));
        assert_eq!(days("cortex"), Some(7));
    }

    #[test]
    fn bodies_in_memory_are_bounded_by_file_environment_and_flags() {
        let file = "bodies_mib = 10\n";
        let of_file = load(Layer::default(), &[], file).expect("right");
        assert_eq!(of_file.bodies_mib, Some(10));
        let env = [("AGENTHUB_BODIES_MIB", "20")];
        let of_env = load(Layer::default(), &env, file).expect("right");
        assert_eq!(of_env.bodies_mib, Some(20));
        let flags = Layer {
            bodies_mib: Some(30),
            ..Layer::default()
        };
        let of_flags = load(flags, &env, file).expect("right");
        assert_eq!(of_flags.bodies_mib, Some(30));
    }

    #[test]
    fn ended_tasks_are_bounded_by_file_environment_and_flags() {
        let file = "[ended_tasks]\nmost = 10\ndays = 20\nmib = 30\n";
        let flags = Layer {
            ended_tasks: EndedTasks {
                mib: Some(3),
                ..EndedTasks::default()
            },
            ..Layer::default()
        };
        let all = load(flags, &[("AGENTHUB_ENDED_TASKS_DAYS", "2")], file).expect("right");
        let expected = EndedTasks {
            most: Some(10),
            days: Some(2),
            mib: Some(3),
        };
        assert_eq!(all.ended_tasks, expected);
    }

    #[test]
    fn nothing_is_written_when_ephemeral() {
        assert_eq!(with_env(&[("AGENTHUB_EPHEMERAL", "true")]).data(), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |env: &[(&str, &str)], file| {
            let error = load(Layer::default(), env, file).expect_err("it is wrong");
            error.to_string()
        };
        let cases = [
            (error(&[], "grcp = 1"), "grcp"),
            (
                error(&[], "[model]\ncolour = 1"),
                "no setting `colour` in [model]",
            ),
            (error(&[], "grpc = 'x'"), "`x` is no address"),
            (error(&[("AGENTHUB_HTTP", "x")], ""), "AGENTHUB_HTTP"),
            (
                error(&[("AGENTHUB_ENDED_TASKS", "-1")], ""),
                "AGENTHUB_ENDED_TASKS",
            ),
            (
                error(&[("AGENTHUB_KEEP_RUNS_DAYS", "writer")], ""),
                "AGENTHUB_KEEP_RUNS_DAYS",
            ),
            (
                error(&[], "[keep_runs]\nwriter = 3"),
                "no setting `writer` in [keep_runs]",
            ),
            (
                error(&[("AGENTHUB_INSECURE", "maybe")], ""),
                "AGENTHUB_INSECURE",
            ),
        ];
        for (error, part) in cases {
            assert!(error.contains(part), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_agent_s_own_model_gives_way_to_the_command_line_alone() {
        let file = "[model]\nname = 'openai/a'\nendpoint = 'http://e'\napi_key = 'k'\n";
        let model = load(Layer::default(), &[], file).expect("right").model;
        let name_and_endpoint = |flag, own| {
            let model = model.unless(flag, own);
            (model.name, model.endpoint, model.api_key.is_some())
        };
        let at = Some("http://e".to_owned());
        for (flag, own, expected) in [
            (None, None, ("openai/a".to_owned(), at.clone(), true)),
            (
                None,
                Some("openai/b"),
                ("openai/b".to_owned(), at.clone(), true),
            ),
            (None, Some("ollama/b"), ("ollama/b".to_owned(), None, false)),
            (None, Some("offline"), ("offline".to_owned(), None, false)),
            (
                Some("openai/a"),
                Some("ollama/b"),
                ("openai/a".to_owned(), at, true),
            ),
        ] {
            assert_eq!(name_and_endpoint(flag, own), expected);
        }
    }

    #[test]
    fn a_place_in_the_file_gives_way_to_the_environment_for_vertex_alone() {
        let file = "[model]\nname = 'vertex/gemini'\nproject = 'p'\nlocation = 'here'\n";
        let env = [("GCP_LOCATION", "there"), ("AGENTHUB_MODEL", "vertex/x")];
        let vertex = load(Layer::default(), &env, file).expect("right").model;
        assert_eq!(vertex.project.as_deref(), Some("p"));
        assert_eq!(vertex.location.as_deref(), Some("there"));

        let file = "[model]\nname = 'bedrock/x'\nlocation = 'eu-west-1'\n";
        let env = [("GCP_LOCATION", "there")];
        let bedrock = load(Layer::default(), &env, file).expect("right").model;
        assert_eq!(bedrock.location.as_deref(), Some("eu-west-1"));
    }
}
