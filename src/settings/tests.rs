use super::*;

fn load(flags: Layer, env: &[(&str, &str)], file: &str) -> anyhow::Result<Settings> {
    let get = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let contexts = (&Contexts::default(), None);
    Settings::of(&flags, &get, &File::of_text(file), contexts)
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
fn presence_leases_last_as_long_as_file_environment_and_flags_say() {
    let hub = |flag, env: &[(&str, &str)], file| {
        let flags = Layer {
            presence_lease_seconds: flag,
            ..Layer::default()
        };
        let hub = load(flags, env, file).expect("right").hub_settings();
        let heartbeat = hub.heartbeat_interval.as_millis();
        (hub.presence_lease.as_secs(), heartbeat)
    };
    let file = "presence_lease_seconds = 6\n";
    let env = [("AGENTHUB_PRESENCE_LEASE_SECONDS", "3")];
    assert_eq!(hub(None, &[], ""), (10, 3_000));
    assert_eq!(hub(None, &[], file), (6, 2_000));
    assert_eq!(hub(None, &env, file), (3, 1_000));
    assert_eq!(hub(NonZeroU32::new(60), &env, file), (60, 3_000));
    let refused = load(Layer::default(), &[], "presence_lease_seconds = 0\n");
    let refused = refused.expect_err("nobody could stay").to_string();
    assert!(refused.contains("presence_lease_seconds"), "{refused}");
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
fn executors_are_bounded_by_file_environment_and_flags() {
    let runs =
        |loaded: anyhow::Result<Settings>| loaded.map(|settings| settings.max_executors.runs());
    let file = "max_executors = 10\n";
    assert_eq!(runs(load(Layer::default(), &[], "")).ok(), Some(64));
    assert_eq!(runs(load(Layer::default(), &[], file)).ok(), Some(10));
    let env = [("AGENTHUB_MAX_EXECUTORS", "20")];
    assert_eq!(runs(load(Layer::default(), &env, file)).ok(), Some(20));
    let flags = Layer {
        max_executors: "30".parse().ok(),
        ..Layer::default()
    };
    assert_eq!(runs(load(flags, &env, file)).ok(), Some(30));
    let wrong = runs(load(Layer::default(), &[], "max_executors = 0\n"));
    let wrong = format!("{:#}", wrong.expect_err("no run could begin"));
    assert!(wrong.contains("0 is not from 1 to 10000"), "{wrong}");
    let wrong = runs(load(
        Layer::default(),
        &[("AGENTHUB_MAX_EXECUTORS", "x")],
        "",
    ));
    let wrong = format!("{:#}", wrong.expect_err("it is no number"));
    assert!(
        wrong.contains("in AGENTHUB_MAX_EXECUTORS: `x` is no"),
        "{wrong}"
    );
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
