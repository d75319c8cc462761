//! The pages of the running program in a real browser. Needs `AGENTHUB_TEST_BROWSER` (a Chromium), `AGENTHUB_TEST_PYTHON` with `playwright`, and
//! `AGENTHUB_TEST_AXE`, the script of axe-core.

use std::{env, path::Path, time::Duration};

use crate::harness::{Process, System, free_address};

/// People find their way without a mouse, in the dark and on a phone; screens follow what happens, also after a kill of the hub; a step is
/// approved, a failure is found; no text becomes markup.
#[test]
fn people_see_and_do_in_a_browser_what_the_hub_does() {
    let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(browser), Some(python), Some(axe)) = (
        named("AGENTHUB_TEST_BROWSER"),
        named("AGENTHUB_TEST_PYTHON"),
        named("AGENTHUB_TEST_AXE"),
    ) else {
        eprintln!(
            "not tested: AGENTHUB_TEST_BROWSER, AGENTHUB_TEST_PYTHON and AGENTHUB_TEST_AXE do not name a Chromium, a Python that has `playwright`, and axe-core"
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/in_browser.py");
    let script = script.to_str().expect("a path in Unicode");
    let system = System::bare("127.0.0.1:0".to_owned());
    let program = env!("CARGO_BIN_EXE_agenthub");
    let (grpc, http) = (free_address(), free_address());
    let args = [script, program, &browser, &axe, &grpc, &http];
    let people = Process::start_other(&python, system.folder(), "", &args);
    let finished = people.finish_within(Duration::from_secs(1200), "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}
