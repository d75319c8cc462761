//! The chat on a terminal, as a person sees it.

mod writer;

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use nix::{
    pty::{Winsize, openpty},
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::harness::{Process, System, eventually, remove_settings};
use writer::Writer;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// A program on its own terminal, killed on drop.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// Bytes of the screen checked so far.
    seen: usize,
}

impl Terminal {
    fn chat(system: &System) -> Self {
        Self::start(system, &["chat", "--ephemeral"])
    }

    /// Starts a program of a system.
    pub(crate) fn start(system: &System, args: &[&str]) -> Self {
        let size = Winsize {
            ws_row: 40,
            ws_col: 160,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None).expect("a terminal");
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("a descriptor"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_agenthub"));
        remove_settings(&mut command);
        let child = command
            .args(args)
            .current_dir(system.folder())
            .env("AGENTHUB_HUB", system.hub())
            .env("TERM", "xterm")
            .stdin(end(&pty.slave))
            .stdout(end(&pty.slave))
            .stderr(end(&pty.slave))
            .spawn()
            .expect("the binary starts");
        drop(pty.slave);
        let keyboard = File::from(pty.master);
        let mut output = keyboard.try_clone().expect("a descriptor");
        let screen = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&screen);
        // It ends with the terminal.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                into.lock()
                    .expect("nobody panics")
                    .push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
        });
        Self {
            child,
            keyboard,
            screen,
            seen: 0,
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("the terminal is there");
    }

    /// Waits until this text appears after the checked part.
    pub(crate) fn shows(&mut self, text: &str) {
        let (screen, from) = (&self.screen, self.seen);
        let found = eventually(&format!("the terminal shows \"{text}\""), || {
            let shown = screen.lock().expect("nobody panics");
            let at = shown[from..].find(text)?;
            Some(at + text.len())
        });
        self.seen += found;
    }

    /// Number of times that this text was shown.
    pub(crate) fn count(&self, text: &str) -> usize {
        let screen = self.screen.lock().expect("nobody panics");
        screen.matches(text).count()
    }

    /// Sends a signal, as the terminal does for Ctrl-C.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Waits until the program has ended, and returns its exit code.
    pub(crate) fn left(&mut self) -> Option<i32> {
        let child = &mut self.child;
        let status = eventually("the program has ended", || {
            child.try_wait().expect("it was started")
        });
        status.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_with(writer: &Writer, system: &System, args: &[&str], id: &str) -> Process {
    let environment = writer.environment();
    let environment: Vec<(&str, &PathBuf)> = environment.iter().map(|(k, v)| (*k, v)).collect();
    let process = Process::start_in(&environment, system.folder(), &system.hub(), args);
    system.wait_online(id);
    process
}

/// spec: HUB-7
#[test]
fn an_answer_grows_and_ctrl_c_cancels_and_ctrl_d_leaves() {
    let (system, _broker) = System::broker();
    let writer = Writer::start();
    let _cortex = start_with(&writer, &system, &["cortex", "--ephemeral"], "cortex");
    let mut chat = Terminal::chat(&system);
    chat.shows("> ");
    chat.press("tell me something\r");
    writer.write(r#"{"actions": [{"type": "chat.response", "text": "The tide"#);
    chat.shows("The tide");
    writer.write(" comes in");
    chat.shows(" comes in");
    writer.write(r#" and goes out."}]}"#);
    writer.end();
    chat.shows(" and goes out.");
    chat.shows("> ");

    chat.press("and something else\r");
    writer.write(r#"{"actions": [{"type": "chat.response", "text": "Never"#);
    chat.shows("Never");
    chat.press(CTRL_C);
    chat.shows("(cancelled)");
    chat.shows("> ");
    // The chat does not wait for that.
    eventually("its task is cancelled", || {
        let states = system.states();
        let is_cancelled = |(_, state): &(String, String)| state.ends_with("CANCELLED");
        states.iter().any(is_cancelled).then_some(())
    });

    chat.press(CTRL_D);
    assert_eq!(chat.left(), Some(0));
}

/// The text of a supervisor is shown while Cortex waits for it.
///
/// spec: AGT-9.3
#[test]
fn what_a_supervisor_writes_is_seen_while_it_writes() {
    let (system, _broker) = System::broker();
    let writer = Writer::start();
    let lead = ["agent", "supervisor", "--name", "agent_lead", "--ephemeral"];
    let _lead = start_with(&writer, &system, &lead, "agent_lead");
    let _cortex = system.start_cortex();
    let mut chat = Terminal::chat(&system);
    chat.shows("> ");
    chat.press("ask agent_lead about the tide\r");
    chat.shows("agent_lead is working on it");
    for piece in ["High water ", "is at ", "noon"] {
        writer.write(piece);
        chat.shows(piece.trim());
    }
    writer.end();
    chat.shows("High water is at noon");
    chat.shows("> ");
    chat.press(CTRL_D);
    assert_eq!(chat.left(), Some(0));
}

#[test]
fn tab_completes_a_command_of_the_chat() {
    let (system, _up) = System::up();
    let mut chat = Terminal::chat(&system);
    chat.shows("> ");
    chat.press("/age\t");
    chat.shows("/agents");
    chat.press("\r");
    chat.shows("agent_echo");
    chat.press(CTRL_D);
    assert_eq!(chat.left(), Some(0));
}
