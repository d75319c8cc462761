//! A Kafka that is killed and starts again while steps are at work.

use std::{env, path::Path, process::Command, time::Duration};

use super::{
    crashes::{OUTPUT, WORKFLOW, each_step_was_done_once},
    stage::{Answers, Stage},
};
use crate::{
    harness::eventually,
    workflows::{begun, written},
};

/// spec: EXE-4.3, EXE-5.1
#[test]
fn runs_go_on_when_kafka_is_back() {
    let Ok(folder) = env::var("AGENTHUB_TEST_KAFKA_FOLDER") else {
        eprintln!("skipped: AGENTHUB_TEST_KAFKA_FOLDER names no folder of scripts/services");
        return;
    };
    let work = Duration::from_millis(300);
    let (stage, up) = Stage::start(Answers::After(work), "tasks");
    let _bridge = stage.bridge();
    let file = written(&stage.system, "three.yaml", WORKFLOW);
    let runs = [(); 6].map(|()| begun(&stage.system, &file, "{}"));
    eventually("some steps have completed", || {
        (stage.agent.counted().ended.len() >= 4).then_some(())
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/services");
    let restarted = Command::new(script).args(["restart", &folder]).status();
    assert!(restarted.expect("it starts").success());
    for run in &runs {
        let ended = stage.ended(run);
        assert_eq!(ended["result"]["message"], OUTPUT, "{ended}\n{}", up.said());
    }
    each_step_was_done_once(&stage, runs.len());
}
