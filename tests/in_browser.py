"""The pages of a hub in a real Chromium: python in_browser.py AGENTHUB CHROMIUM AXE GRPC HTTP [PICTURES]

Starts a hub of its own at these two addresses, and does what people do. Ends with a status other than 0 where a page is not as it should be. PICTURES is a folder for
pictures of the main screens.
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from playwright.sync_api import expect, sync_playwright

import in_browser_runs as runs

AGENTHUB, CHROMIUM, AXE, GRPC, HTTP = sys.argv[1:6]
PICTURES = pathlib.Path(sys.argv[6]) if len(sys.argv) > 6 else None
ROOT = pathlib.Path(__file__).parent.parent
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)


def until(so, what):
    """Waits for what no page shows."""
    for _ in range(200):
        if so():
            return
        time.sleep(0.1)
    raise AssertionError(f"still not so: {what}")


class Hub:
    def __init__(self, folder):
        self.folder = folder
        self.url = f"http://localhost:{HTTP.split(':')[-1]}"
        self.start()

    def start(self):
        args = f"up --json --grpc {GRPC} --http {HTTP} --data {self.folder}"
        self.process = subprocess.Popen([AGENTHUB, *args.split()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder)
        assert self.process.stdout.readline(), "it starts"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def command(self, *args):
        where = ["--data", self.folder] if args[0] == "tokens" else ["--hub", f"http://{GRPC}"]
        done = subprocess.run([AGENTHUB, *args, *where], capture_output=True, text=True, cwd=self.folder)
        return done.stdout.strip()

    def post(self, path, body, headers={}):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
        return json.load(urllib.request.urlopen(request))

    def post_message(self, sender, to, words):
        self.command("publish", "--from", sender, "--to", to, "--wait", words)


def heading(page, name):
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible(timeout=PATIENCE)


def try_an_agent(page, hub):
    """A form made from a skill leads to a task, whose answer comes by itself; what people write is text."""
    page.goto(f"{hub.url}/ui/agents")
    page.get_by_role("link", name="agent_echo").click()
    heading(page, "agent_echo")
    page.get_by_label("Words").fill("<img src=x onerror=alert(1)> hello")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("Echo: <img src=x onerror=alert(1)> hello").first).to_be_visible(timeout=PATIENCE)
    expect(page.locator("h1 .state")).to_have_text("completed")
    assert page.locator("main img").count() == 0, "no markup comes from a message"


def welcome_who_has_never_been_here(page, hub):
    """A hub that is new says what it is and what to do first; every empty screen says what would be there, and how to make it so."""
    page.goto(hub.url)
    expect(page.get_by_text("where AI agents find each other, hand each other work")).to_be_visible()
    expect(page.get_by_role("link", name="ask Cortex in the chat")).to_be_visible()
    expect(page.get_by_text("start one, or ask Cortex for something in the chat")).to_be_visible()
    for path, said in [("/ui/chat", "hands the work to those that can do it"), ("/ui/mailboxes", "Nothing was given up"), ("/ui/teams", "agenthub up --workflows workflows"), ("/ui/events", "Whatever happens at the hub is an event")]:
        page.goto(hub.url + path)
        expect(page.get_by_text(said).first).to_be_visible()
    page.goto(f"{hub.url}/ui/chat")
    expect(page.get_by_text("offline").first).to_be_visible()
    page.get_by_role("link", name='ask agent_echo "Echo this message"').click()
    expect(page.get_by_label("Say to Cortex")).to_have_value('ask agent_echo "Echo this message"')
    page.get_by_role("button", name="Send").click()
    turn = page.get_by_role("region", name="Turn")
    expect(turn.locator("p.about .state.good")).to_have_text("completed", timeout=PATIENCE)
    expect(turn.locator(".markdown")).to_have_text("agent_echo says: Echo: Echo this message")


def refuse_an_empty_form(page, hub):
    """What is refused is said at the field, on the page that one is on."""
    page.goto(f"{hub.url}/ui/agents/agent_echo")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing to ask")
    expect(page.get_by_label("Words")).to_be_focused()
    assert page.get_by_label("Words").get_attribute("aria-invalid") == "true"
    assert page.url == f"{hub.url}/ui/agents/agent_echo"


def keep_what_was_typed(page, hub):
    """JSON that is wrong is told with its place, and nothing that was typed is lost; nor where the hub is away. Plain words are taken."""
    page.goto(f"{hub.url}/ui/start")
    wanted = page.get_by_label("What is wanted")
    wanted.fill("Say good morning")
    given = page.get_by_label("What the agents get to work with")
    given.fill('{"a" 1,\n "b" 2}')
    page.get_by_role("button", name="Start", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("in line 1 at character 6")
    expect(alert).to_contain_text("in line 2 at character 6")
    expect(given).to_be_focused()
    expect(wanted).to_have_value("Say good morning")
    expect(given).to_have_value('{"a" 1,\n "b" 2}')
    given.fill("be brief")
    hub.kill()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(alert).to_contain_text("The hub does not answer", timeout=PATIENCE)
    expect(wanted).to_have_value("Say good morning")
    hub.start()
    expect(page.get_by_text("The hub is back.")).to_be_visible(timeout=PATIENCE)
    expect(alert).to_have_count(0)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Say good morning")).to_be_visible(timeout=PATIENCE)
    hub.command("runs", "cancel", page.url.split("/")[-1])


def allow_by_keyboard(page, other, hub):
    """An example begins with one press. Any page says that something waits; the box shows exactly what would be sent, and is answered by the keyboard alone."""
    other.goto(f"{hub.url}/ui/tasks")
    page.goto(f"{hub.url}/ui/start")
    page.get_by_label("Event").fill("our <b>first</b> day")
    page.get_by_role("button", name="Start the example").click()
    asked = page.get_by_role("region", name="Approval")
    expect(asked).to_contain_text("You are invited to our <b>first</b> day.", timeout=PATIENCE)
    other.get_by_role("link", name="Waiting for you (1)").click(timeout=PATIENCE)
    expect(other.get_by_role("region", name="Approval")).to_be_visible()
    page.get_by_role("link", name="To the content").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "allow":
            break
    page.keyboard.press("Enter")
    expect(page.locator("h1 .state")).to_have_text("completed", timeout=PATIENCE)
    expect(other.get_by_role("region", name="Approval")).to_have_count(0, timeout=PATIENCE)
    expect(other.locator("#waiting")).to_have_text("")


def know_who_is_no_agent(page, hub):
    """Who asks through a page is no agent: there is no dead link, and the id has a page that says who it is."""
    page.goto(f"{hub.url}/ui/tasks?agent=page")
    expect(page.get_by_text("a person").first).to_be_visible()
    assert page.locator("main a[href='/ui/agents/page']").count() == 0
    page.goto(f"{hub.url}/ui/agents/page")
    expect(page.get_by_text("Somebody who uses these pages.")).to_be_visible()
    hub.post_message("somebody.else", "agent_echo", "hello")
    page.goto(f"{hub.url}/ui/agents/somebody.else")
    expect(page.get_by_text("No agent of this name is in the directory")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="hello")).to_be_visible(timeout=PATIENCE)
    page.goto(f"{hub.url}/ui/agents/nobody-at-all")
    expect(page.get_by_role("alert")).to_contain_text("nobody-at-all")
    expect(page.get_by_role("link", name="Back to Agents")).to_be_visible()


def leave_no_mail(page, hub):
    """What is asked for through a page is answered on pages: no mail for it is left in the hub."""
    page.goto(f"{hub.url}/ui/mailboxes")
    expect(page.get_by_role("row").filter(has_text="agent_echo").first).to_be_visible()
    expect(page.locator("td:first-child").filter(has_text=re.compile(r"\bpage$"))).to_have_count(0, timeout=PATIENCE)


def save_a_file(page, hub):
    """A file that came with what was said is named, and saved as it is; nothing makes markup of it."""
    content = b"<script>alert(1)</script>"
    part = {"raw": base64.b64encode(content).decode(), "filename": "../note.html", "mediaType": "text/plain"}
    message = {"messageId": "with-a-file", "role": "ROLE_USER", "contextId": "files", "parts": [{"text": 'echo "see the note"'}, part]}
    hub.post("/message:send", {"message": message}, {"A2A-Version": "1.0"})
    page.goto(f"{hub.url}/ui/chat")
    page.get_by_role("link", name='echo "see the note"').click()
    expect(page.get_by_role("region", name="Turn").get_by_text("../note.html").first).to_be_visible(timeout=PATIENCE)
    link = page.get_by_role("link", name="Save it").first
    with page.expect_download() as saved:
        link.click()
    assert saved.value.suggested_filename == "_note.html", saved.value.suggested_filename
    assert pathlib.Path(saved.value.path()).read_bytes() == content
    answer = page.request.get(hub.url + link.get_attribute("href"))
    headers = answer.headers
    assert headers["content-disposition"].startswith("attachment;"), headers
    assert headers["content-type"] == "application/octet-stream" and headers["x-content-type-options"] == "nosniff", headers
    missing = page.request.get(hub.url + link.get_attribute("href").replace("part=1", "part=7"))
    assert missing.status == 404, missing.status


PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def send_files(page, hub):
    """Files go with what is said, without a mouse: too much is refused at its field; a picture is shown, anything else is saved as it is, and the agent that is asked has them."""
    page.goto(f"{hub.url}/ui/chat")
    page.get_by_label("Say to Cortex").fill('echo "see what I found"')
    page.keyboard.press("Tab")
    box = page.get_by_label("Files for the agents")
    expect(box).to_be_focused()
    box.set_input_files([{"name": "large", "mimeType": "text/plain", "buffer": b"x" * 700_000}])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("At most 8 files, 640 KiB together, go with what you say. Choose fewer or smaller ones.")
    expect(box).to_be_focused()
    expect(page.get_by_label("Say to Cortex")).to_have_value('echo "see what I found"')
    note = b"<script>alert(2)</script>"
    box.set_input_files([{"name": "found.png", "mimeType": "image/png", "buffer": PICTURE}, {"name": "note.html", "mimeType": "text/html", "buffer": note}])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    said = page.get_by_role("region", name="Turn").locator(".said")
    shown = said.get_by_role("img", name="Preview of found.png")
    expect(shown).to_be_visible(timeout=PATIENCE)
    page.wait_for_function("image => image.complete && image.naturalWidth === 1", arg=shown.element_handle())
    expect(said).to_contain_text(f"File note.html (text/html), {len(note)} bytes")
    with page.expect_download() as saved:
        said.get_by_role("link", name="Save it").last.click()
    assert pathlib.Path(saved.value.path()).read_bytes() == note
    turn = page.get_by_role("region", name="Turn")
    turn.get_by_text("What was asked and what came back").click(timeout=PATIENCE)
    expect(turn.get_by_role("list", name="Agents that were asked")).to_contain_text("File note.html (text/html)")
    expect(page.locator("p.about .state")).to_contain_text("completed", timeout=PATIENCE)
    dropped = page.evaluate_handle("() => { const given = new DataTransfer(); given.items.add(new File(['x'], 'dropped.txt')); return given; }")
    page.dispatch_event("form.say", "drop", {"dataTransfer": dropped})
    assert page.evaluate("document.querySelector('input[type=file]').files[0].name") == "dropped.txt"
    page.get_by_label("Say to Cortex").fill('echo "and this"')
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(turn.last.locator(".said")).to_contain_text("File dropped.txt", timeout=PATIENCE)
    # What was sent is not sent again.
    expect(page.get_by_role("alert")).to_have_count(0)
    page.wait_for_function("document.querySelector('input[type=file]').files.length === 0")


def send_what_has_changed(hub, conversation):
    """A page that is open is sent its screen once, and then nothing until something changes; of a conversation, only the turn that is new."""
    thread = conversation.split("/")[-1]

    def is_over():
        tasks = hub.command("tasks", "list", "--context", thread, "--json")
        return tasks and not re.search("TASK_STATE_(SUBMITTED|WORKING)", tasks)

    until(is_over, "the turn before is over")
    stream = urllib.request.Request(hub.url + conversation, headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(stream, timeout=30) as lines:
        first = next_event(lines)
        assert "loud" in first and 'class="piece"' in first, first
        hub.post("/v1/runs", {"objective": 'echo "one more turn"', "mode": "chat", "threadId": thread})
        seen = ""
        while "one more turn" not in seen or "completed" not in seen:
            event = next_event(lines)
            assert "loud" not in event, "the turn before is not sent again"
            seen += event
        quiet, deadline = 0, time.monotonic() + 60
        while quiet < 2:
            assert time.monotonic() < deadline, "it is sent although nothing changes"
            line = lines.readline().decode()
            quiet = 0 if line.startswith("data: <") else quiet + line.startswith("event: beat")


def next_event(lines):
    """The data of the next event that is no beat."""
    data = ""
    while True:
        line = lines.readline().decode()
        assert line, "the stream goes on"
        if line.startswith("data: "):
            data += line[6:]
        elif line == "\n" and data.startswith("<"):
            return data
        elif line == "\n":
            data = ""


def look_at_a_team(page, hub):
    """A team's files stand with their faults in place; the report on a run has each rule with what shows that it was kept."""
    sops = pathlib.Path(hub.folder) / "sops"
    page.goto(f"{hub.url}/ui/teams")
    faults = page.get_by_role("region", name="Faults of")
    expect(faults).to_contain_text("broken.sop.md")
    expect(faults).to_contain_text("description: [")
    expect(page.get_by_role("row").filter(has=page.get_by_role("cell", name="editor", exact=True))).to_contain_text("not at work")
    (sops / "broken.sop.md").unlink()
    args = ["sop", "up", str(sops), "--hub", f"http://{GRPC}", "--data", hub.folder]
    team = subprocess.Popen([AGENTHUB, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=hub.folder)
    try:
        page.goto(f"{hub.url}/ui/agents/editor")
        for _ in range(100):
            if page.get_by_role("heading", name="editor").count():
                break
            page.wait_for_timeout(200)
            page.reload()
        hub.command("publish", "--to", "editor", "--wait", "Write a short article about what survives a crash")
        page.goto(f"{hub.url}/ui/teams")
        expect(page.get_by_role("row").filter(has=page.get_by_role("cell", name="editor", exact=True))).to_contain_text("here")
        page.get_by_role("button", name="Report").click()
        heading(page, "Report on editor")
        kept = page.get_by_role("row").filter(has_text="MUST").filter(has_text="kept")
        expect(kept.first).to_be_visible()
        assert kept.first.get_by_role("cell").last.inner_text().strip(), "what shows it"
    finally:
        team.kill()
        team.wait()
    return "/ui/teams/report?run=latest"


def chat_by_keyboard(page, hub):
    """From the overview to an answer without a mouse, and a second turn in the same conversation."""
    page.goto(hub.url)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Chat":
            break
    page.keyboard.press("Enter")
    heading(page, "Chat")
    expect(page.get_by_label("Say to Cortex")).to_be_focused()
    page.keyboard.type('echo "good morning"')
    page.keyboard.press("Enter")
    turn = page.get_by_role("region", name="Turn")
    expect(turn.get_by_text("agent_echo says:")).to_be_visible(timeout=PATIENCE)
    expect(turn.get_by_role("link", name="agent_echo").first).to_be_visible()
    expect(turn.locator(".said")).not_to_contain_text("File")
    # Until then Enter sends nothing.
    expect(turn.locator("p.about .state")).to_have_text("completed", timeout=PATIENCE)
    page.get_by_label("Say to Cortex").fill('echo "good night"')
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(turn).to_have_count(2, timeout=PATIENCE)
    expect(turn.last.locator("p.about .state")).to_have_text("completed", timeout=PATIENCE)
    expect(turn.last.get_by_role("list", name="Agents that were asked")).to_contain_text("Cortex asked agent_echo")
    expect(page.get_by_label("Say to Cortex")).to_have_value("")
    page.goto(f"{hub.url}/ui/chat")
    conversation = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="good morning"))
    expect(conversation).to_have_count(1)
    expect(conversation).to_contain_text("completed")
    expect(page.get_by_role("link", name="good night")).to_have_count(0)


def approve_a_step(page, hub):
    """A run asks on the overview, by itself, and shows exactly what would be sent; an answer lets it end."""
    page.goto(hub.url)
    file = str(ROOT / "examples/workflows/invitations.yaml")
    given = '{"event": "our open day", "people": ["Ann", "Bob"]}'
    run = hub.command("workflow", "run", file, "--input", given, "--detach")
    asked = page.get_by_role("region", name="Approval")
    expect(asked).to_contain_text("You are invited to our open day.", timeout=PATIENCE)
    page.goto(f"{hub.url}/ui/runs/{run}")
    runs.see_what_would_be_sent(page)
    picture(page, "approval")
    asked.get_by_role("button", name="Allow").click()
    expect(page.locator("h1 .state")).to_have_text("completed", timeout=PATIENCE)
    expect(page.get_by_role("cell", name="item 2", exact=True).first).to_be_visible()
    done = run

    refused = hub.command("workflow", "run", file, "--input", given, "--detach")
    page.goto(f"{hub.url}/ui/runs/{refused}")
    asked.get_by_label("Comment").fill("not <today>")
    asked.get_by_role("button", name="Refuse").click(timeout=PATIENCE)
    expect(page.locator("h1 .state")).to_have_text("failed", timeout=PATIENCE)
    runs.see_who_refused(page, hub, refused)
    return done


def travel_and_fork(page, hub, run):
    """The plan of a run is a picture whose steps are links; a slider shows the run as it stood, by the keyboard alone; a fork goes on from there."""
    page.goto(f"{hub.url}/ui/runs/{run}")
    plan = page.get_by_role("group", name="Plan as a picture")
    expect(plan.get_by_role("link").filter(has_text="send")).to_contain_text("completed")
    page.get_by_role("heading", name="Plan").evaluate("heading => heading.scrollIntoView()")
    picture(page, "run")
    plan.get_by_role("link").filter(has_text="send").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tr:target td b").first).to_have_text("send")

    page.get_by_role("link", name="History").click()
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(f"{hub.url}/ui/runs/{run}/at?event=1")
    expect(page.locator("h1 .state")).to_have_text("working")
    expect(slider).to_be_focused()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Event 2 of")).to_be_visible()
    page.get_by_role("link", name="Previous").click()

    drafted = next(event for event in events(hub, run) if event["kind"] == "step-ended" and event["step"] == "draft")
    page.goto(f"{hub.url}/ui/runs/{run}/at?event={drafted['number']}")
    expect(plan.get_by_role("link").filter(has_text="draft")).to_contain_text("completed")
    expect(plan.get_by_role("link").filter(has_text="send")).to_contain_text("waiting")
    picture(page, "moment")
    page.get_by_text("Fork here").click()
    # The input that the run had is there to be changed.
    expect(page.get_by_label("Another input")).to_have_value(re.compile("our open day"))
    page.get_by_role("button", name="Fork at event").click()
    expect(page.get_by_text("Forked from", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("row").filter(has_text="draft").filter(has_text="reused").first).to_be_visible()
    fork = page.url.split("/")[-1]
    page.get_by_role("region", name="Approval").get_by_role("button", name="Allow").click(timeout=PATIENCE)
    expect(page.locator("h1 .state")).to_have_text("completed", timeout=PATIENCE)

    expect(page.get_by_role("link", name="Compare with the run that it was forked from")).to_be_visible()
    page.get_by_role("link", name="compare with it").click()
    heading(page, "Two runs")
    expect(page.get_by_text("They are the same")).to_be_visible()
    page.goto(f"{hub.url}/ui/runs/{run}/at?event=999999")
    expect(page.get_by_role("alert")).to_contain_text("events")
    return fork


def events(hub, run):
    return [json.loads(line) for line in hub.command("runs", "events", run, "--json").splitlines()]


def compare(page, hub, run):
    """Another run is found by its id, and the step at which they part is said."""
    page.goto(f"{hub.url}/ui/runs/{run}")
    file = str(ROOT / "examples/workflows/invitations.yaml")
    given = '{"event": "our <b>closing</b> day", "people": ["Ann"]}'
    other = hub.command("workflow", "run", file, "--input", given, "--detach")
    runs.find_a_run_by_the_beginning_of_its_id(page, hub, run, other)
    runs.compare_with_a_run_that_is_chosen(page, hub, run, other)
    heading(page, "Two runs")
    expect(page.get_by_text("They part at the step draft")).to_be_visible()
    assert page.locator("main b").filter(has_text="closing").count() == 0, "no markup comes from an input"
    hub.command("runs", "cancel", other)
    return other


def follow_a_request(page, hub):
    """One request across agents, as it goes on and when it is over: each task below the one that led to it, with its time."""
    run = hub.command("run", str(ROOT / "examples/campaign.yaml"), "--detach")
    page.goto(f"{hub.url}/ui/runs/{run}")
    expect(page.locator("h1 .state")).to_contain_text("completed", timeout=3 * PATIENCE)
    expect(page.get_by_role("heading", name="Report")).to_be_visible()
    page.locator("dd a.id").first.click()
    expect(page.get_by_role("heading", name="The request across agents")).to_be_visible()
    chain = page.get_by_role("row").filter(has=page.locator("svg.bar"))
    expect(chain).to_have_count(8, timeout=PATIENCE)
    expect(chain.first.locator("td").first).to_have_class("d0")
    expect(chain.nth(1).locator("td").first).to_have_class("d1")
    picture(page, "request")
    task = page.url.split("/")[-1]
    chain.nth(1).get_by_role("link").first.click()
    expect(page.locator("tr[aria-current]")).to_have_count(1)
    expect(chain).to_have_count(8)
    return run, task


def hostile_markdown(page, hub):
    """Markdown of an answer is laid out; what would run or fetch anything is text."""
    page.goto(f"{hub.url}/ui/chat")
    page.get_by_label("Say to Cortex").fill('echo "**loud** <img src=x onerror=alert(1)> [go](javascript:alert(1)) ![see](https://e.example/i)"')
    page.keyboard.press("Enter")
    answer = page.get_by_role("region", name="Turn").locator(".markdown")
    expect(answer.locator("strong")).to_have_text("loud", timeout=PATIENCE)
    expect(answer).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0, "no image comes from an answer"
    assert page.locator("main a[href^='javascript']").count() == 0, "no link runs anything"
    expect(page.get_by_role("region", name="Turn").locator("p.about .state")).to_have_text("completed")
    return page.url[len(hub.url):]


def find_why_a_task_failed(page, hub):
    """A failed task shows on the overview that is open, and its page says why."""
    page.goto(hub.url)
    hub.command("publish", "--to", "strategy", "--task-type", "no.such.skill", "--wait", "do it")
    failed = page.get_by_role("row").filter(has_text="no.such.skill")
    expect(failed).to_be_visible(timeout=PATIENCE)
    failed.get_by_role("link").first.click()
    expect(page.get_by_text("has no skill")).to_be_visible()


def watch_events(page, other, hub):
    try_an_agent(other, hub)
    page.goto(f"{hub.url}/ui/events?kind=message")
    # The kinds stand there to be chosen, with how many there are of each.
    chosen = page.get_by_role("navigation", name="Kinds of events").get_by_role("link", name=re.compile(r"messages \([1-9]\d*\)"))
    expect(chosen).to_have_attribute("aria-current", "true")
    from_or_to = page.get_by_role("navigation", name="Agents").get_by_role("link", name=re.compile(r"^agent_echo \("))
    expect(from_or_to).to_have_attribute("href", "/ui/events?kind=message&agent=agent_echo")
    # What happened before somebody came is there at once.
    events = page.get_by_role("listitem").filter(has_text="agent_echo")
    latest = events.first.locator("details")
    expect(latest).to_be_visible(timeout=PATIENCE)
    before = latest.get_attribute("id")
    try_an_agent(other, hub)
    two_come_above(page, before)
    event = page.locator(f'[id="{latest.get_attribute("id")}"]')
    event.locator("summary").click()
    expect(event.locator("pre")).to_be_visible()
    # What somebody has opened stays open when more comes.
    before = latest.get_attribute("id")
    try_an_agent(other, hub)
    two_come_above(page, before)
    expect(page.locator("details[open]")).to_have_count(1)
    expect(event.locator("pre")).to_be_visible()


def two_come_above(page, event):
    """The question and the answer. The earliest go from the end meanwhile, so that counting all tells nothing."""
    page.wait_for_function("""event => {
        const rows = [...document.querySelectorAll("li:has(details)")].filter((row) => row.textContent.includes("agent_echo"));
        return rows.findIndex((row) => row.querySelector("details").id === event) >= 2;
    }""", arg=event)


def come_back_after_a_kill(page, hub):
    """A page that lost its hub says so, and shows what is so once the hub is back, without a reload."""
    page.goto(f"{hub.url}/ui/tasks")
    heading(page, "Tasks")
    page.evaluate("window.isTheSame = true")
    lost = page.get_by_text("Not connected")
    hub.kill()
    expect(lost).to_be_visible(timeout=PATIENCE)
    hub.start()
    hub.command("publish", "--to", "agent_echo", "--wait", "after the kill")
    expect(page.get_by_role("row").filter(has_text="after the kill")).to_be_visible(timeout=PATIENCE)
    expect(lost).not_to_be_visible()
    assert page.evaluate("window.isTheSame"), "it was not loaded again"
    # So does a page that is not kept up to date.
    page.goto(f"{hub.url}/ui/chat")
    gone = page.get_by_text("what you send does not arrive")
    hub.kill()
    expect(gone).to_be_visible(timeout=PATIENCE)
    hub.start()
    expect(gone).not_to_be_visible(timeout=PATIENCE)


def open_many_tabs(context, hub):
    """A browser has six connections to a server: with more pages than that open, each is kept up to date, and what people do goes through."""
    tabs = []
    for _ in range(8):
        tab = context.new_page()
        tab.goto(f"{hub.url}/ui/tasks", timeout=PATIENCE)
        heading(tab, "Tasks")
        tabs.append(tab)
    hub.command("publish", "--to", "agent_echo", "--wait", "for all tabs")
    for tab in tabs:
        expect(tab.get_by_text("for all tabs").first).to_be_visible(timeout=PATIENCE)
    last = tabs[-1]
    last.goto(f"{hub.url}/ui/agents/agent_echo", timeout=PATIENCE)
    last.get_by_label("Words").fill("from the last tab")
    last.get_by_role("button", name="Ask").click()
    expect(last.get_by_text("Echo: from the last tab").first).to_be_visible(timeout=PATIENCE)
    for tab in tabs:
        tab.close()


def see_every_screen(page, hub, more):
    """No screen has a serious fault of accessibility, is wider than a phone, or breaks the rules on what a page may load."""
    axe = pathlib.Path(AXE).read_text()
    for path in ["/", "/ui/chat", "/ui/agents", "/ui/agents/writer", "/ui/tasks", "/ui/runs", "/ui/mailboxes", "/ui/events", "/ui/teams", "/ui/tasks/none", "/ui/start", "/ui/agents/page", *more]:
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme)
            page.goto(hub.url + path)
            page.evaluate(axe)
            faults = page.evaluate("axe.run().then((found) => found.violations)")
            serious = [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in faults if fault["impact"] in ("serious", "critical")]
            assert not serious, (path, scheme, serious)
        page.set_viewport_size({"width": 360, "height": 700})
        page.goto(hub.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        wide = page.evaluate("[...document.querySelectorAll('table.rows')].filter((table) => table.scrollWidth > table.parentElement.clientWidth + 1).map((table) => table.innerText.slice(0, 200))")
        assert not wide, (path, wide)
        page.set_viewport_size({"width": 1200, "height": 800})
    page.emulate_media(color_scheme="light")
    page.goto(hub.url)
    picture(page, "overview")


def log_in_and_out(browser, hub):
    """Once there are identities, everybody logs in, sees and does what the token allows, and nothing after logging out."""
    tokens = {}
    for name, role in [("alice", "user"), ("root", "admin")]:
        issued = hub.command("tokens", "issue", name, "--role", role)
        tokens[name] = issued.split()[-1]
        until_known(hub, name, tokens[name])
    sections = {"alice": ["Overview", "Chat", "Agents", "Tasks", "Runs"], "root": ["Overview", "Chat", "Agents", "Tasks", "Runs", "Teams", "Mailboxes", "Events"]}
    for name, token in tokens.items():
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{hub.url}/ui/agents/agent_echo")
        heading(page, "Log in")
        assert page.get_by_role("navigation", name="Screens").get_by_role("link").count() == 0, "there is no way for who is not known"
        page.get_by_label("Token").fill("ah_wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible(timeout=PATIENCE)
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{hub.url}/ui/agents/agent_echo")
        assert token not in page.content() and token not in page.url
        assert page.evaluate("document.cookie") == "", "no script sees the session"
        assert page.get_by_role("navigation", name="Screens").get_by_role("link").all_inner_texts() == sections[name], name
        page.get_by_label("Words").first.fill(f"hello from {name}")
        page.get_by_role("button", name="Ask").first.click()
        expect(page.get_by_text("completed").first).to_be_visible(timeout=PATIENCE)
        # One person has one name, whatever they use.
        expect(page.locator("main dd bdi").filter(has_text=re.compile(f"^{name}$"))).to_be_visible(timeout=PATIENCE)
        if name == "alice":
            page.goto(f"{hub.url}/ui/teams")
            expect(page.get_by_role("alert")).to_contain_text("You may not see this page")
            assert page.get_by_role("navigation", name="Screens").get_by_role("link").all_inner_texts() == sections[name], "it is a page of hers"
        page.goto(hub.url)
        heading(page, "Overview")
        page.get_by_role("button", name="Log out").click()
        heading(page, "Log in")
        page.goto(f"{hub.url}/ui/tasks")
        heading(page, "Log in")
        context.close()


def until_known(hub, name, token):
    """Waits until the hub takes the bearer of a token for this principal: it reads tokens at an interval."""
    given = pathlib.Path(hub.folder) / f"{name}.token"
    given.write_text(token)
    until(lambda: f'"{name}"' in hub.command("access", "whoami", "--json", "--token-file", str(given)), f"the hub knows {name}")


def lose_the_login(browser, hub):
    """A page whose token is revoked says so, and asks no more."""
    issued = hub.command("tokens", "issue", "carol", "--role", "user", "--json")
    token = json.loads(issued)
    context = browser.new_context()
    page = context.new_page()
    until_known(hub, "carol", token["token"])
    page.goto(f"{hub.url}/ui/tasks")
    page.get_by_label("Token").fill(token["token"])
    page.get_by_role("button", name="Log in").click()
    heading(page, "Tasks")
    hub.command("tokens", "revoke", token["id"])
    expect(page.get_by_text("You are not logged in any more")).to_be_visible(timeout=PATIENCE)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4_000)
    assert not asked, asked
    context.close()


def picture(page, name):
    if PICTURES:
        page.screenshot(path=PICTURES / f"{name}.png")


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shutil.copytree(ROOT / "examples/sops", pathlib.Path(folder) / "sops")
        (pathlib.Path(folder) / "sops/broken.sop.md").write_text("---\nname: broken\ndescription: [\n---\nx\n")
        hub = Hub(folder)
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = browser.new_context(viewport={"width": 1200, "height": 800})
            page, other = context.new_page(), context.new_page()
            faults = []
            for watched in (page, other):
                watched.on("pageerror", lambda error: faults.append(str(error)))
                watched.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
            try_an_agent(page, hub)
            welcome_who_has_never_been_here(page, hub)
            leave_no_mail(page, hub)
            refuse_an_empty_form(page, hub)
            keep_what_was_typed(page, hub)
            allow_by_keyboard(page, other, hub)
            know_who_is_no_agent(page, hub)
            save_a_file(page, hub)
            send_files(page, hub)
            chat_by_keyboard(page, hub)
            run = approve_a_step(page, hub)
            fork = travel_and_fork(page, hub, run)
            beside = compare(page, hub, run)
            campaign, task = follow_a_request(page, hub)
            failed = runs.find_why_a_run_failed(page, hub)
            loop = runs.follow_a_loop(page, hub)
            runs.list_runs_without_their_parts(page, hub, campaign)
            conversation = hostile_markdown(page, hub)
            send_what_has_changed(hub, conversation)
            report = look_at_a_team(page, hub)
            find_why_a_task_failed(page, hub)
            watch_events(page, other, hub)
            more = [f"/ui/runs/{run}", f"/ui/runs/{campaign}", f"/ui/runs/{failed}", "/ui/runs?parts=1", f"/ui/runs/{campaign}/at?event=20", f"/ui/runs/{loop}", f"/ui/runs/{loop}/steps?step=send", f"/ui/runs/{fork}/with/{beside}", f"/ui/tasks/{task}", conversation, report]
            see_every_screen(page, hub, more)
            other.close()
            open_many_tabs(context, hub)
            come_back_after_a_kill(page, hub)
            log_in_and_out(browser, hub)
            lose_the_login(browser, hub)
            assert not faults, faults
            browser.close()
        finally:
            hub.kill()


main()
