"""What people see and do on the pages of runs and tasks. Part of in_browser.py."""

import json
import pathlib
import re

from playwright.sync_api import expect

PATIENCE = 20_000

FAILS = """
name: invoices
input: { type: object, properties: { amount: { type: number } } }
steps:
  count:
    agent: agent_echo
    text: Two invoices
  total:
    agent: agent_echo
    text: "${count.output.nosuch}"
  send:
    agent: agent_echo
    text: "${total.output.text}"
"""


def row(page, step):
    return page.locator(f"tr#step-{step}")


def find_why_a_run_failed(page, hub):
    """A task that failed leads to its run; the run says why, at which step, and what was not reached; it is done again from a step that is chosen."""
    file = pathlib.Path(hub.folder) / "invoices.yaml"
    file.write_text(FAILS)
    run = hub.command("workflow", "run", str(file), "--detach")
    page.goto(f"{hub.url}/ui/tasks?state=failed")
    task = page.get_by_role("row").filter(has_text="nosuch")
    expect(task).to_be_visible(timeout=PATIENCE)
    task.get_by_role("link").first.click()
    why = page.get_by_role("region", name="Why it failed")
    expect(why).to_contain_text("nosuch")
    why.get_by_role("link", name="Its run").click()
    page.wait_for_url(f"{hub.url}/ui/runs/{run}")
    expect(page).to_have_title(f"invoices · run {run[:8]} · AgentHub")

    expect(why).to_contain_text("nosuch")
    why.get_by_role("link", name="total").click()
    expect(page.locator("tr:target")).to_contain_text("nosuch")
    expect(row(page, "count").locator(".state")).to_have_text("completed")
    expect(row(page, "total").locator(".state")).to_have_text("failed")
    expect(row(page, "send").locator(".state")).to_have_text("not reached")
    plan = page.get_by_role("group", name="Plan as a picture")
    expect(plan.get_by_role("link").filter(has_text="total")).to_contain_text("failed")
    expect(plan.get_by_role("link").filter(has_text="send")).to_contain_text("not reached")

    page.get_by_text("With another input").click()
    expect(page.locator("textarea[name=input]")).to_have_value(re.compile("{"))
    again = page.get_by_role("button", name="Do it again")
    again.click()
    expect(page).to_have_url(f"{hub.url}/ui/runs/{run}#step-total")
    page.get_by_label("From step").select_option("count")
    page.get_by_role("checkbox", name="may be done again").check()
    again.click()
    expect(page.get_by_text("Goes on from", exact=True)).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("link", name="Compare with the run before")).to_have_attribute("href", re.compile(f"/ui/runs/{run}/with/"))
    expect(row(page, "count").locator(".state")).to_have_text("completed", timeout=PATIENCE)
    return run


def see_what_would_be_sent(page):
    """An approval lists what would be sent, field by field, and puts the question once."""
    asked = page.get_by_role("region", name="Approval")
    expect(asked.locator("dt")).to_have_text(["invitation"])
    expect(asked).not_to_contain_text("{")
    # All that says how the step stands says the same.
    expect(row(page, "allowed").locator(".state")).to_have_text("waits for approval")
    plan = page.get_by_role("group", name="Plan as a picture")
    expect(plan.get_by_role("link").filter(has_text="allowed")).to_contain_text("waits for approval")


def see_who_refused(page, hub, run):
    """What a person did not allow reads refused everywhere: by whom, when, and with what words. What needs it was not reached."""
    why = page.get_by_role("region", name="Why it ended")
    expect(why).to_contain_text("was refused")
    expect(why).to_contain_text("by a person")
    expect(why).to_contain_text("“not <today>”")
    expect(row(page, "allowed").locator(".state")).to_have_text("refused")
    expect(row(page, "allowed")).to_contain_text("“not <today>”")
    expect(row(page, "send").locator(".state")).to_have_text("not reached")
    plan = page.get_by_role("group", name="Plan as a picture")
    expect(plan.get_by_role("link").filter(has_text="allowed")).to_contain_text("refused by a person")
    expect(plan.get_by_role("link").filter(has_text="send")).to_contain_text("not reached")
    expect(page.locator("ol.timeline li").filter(has_text="is decided by a person")).to_contain_text("refused")
    page.get_by_role("link", name="History").click()
    expect(row(page, "allowed").locator(".state")).to_have_text("refused")
    told = hub.command("runs", "show", run)
    assert "refused   step allowed at " in told and "by a person: not <today>" in told, told


def list_runs_without_their_parts(page, hub, run):
    """A list has the runs that were asked for; what they led to is there on request."""
    objective = json.loads(hub.command("runs", "show", run, "--json"))["objective"][:40]
    page.goto(f"{hub.url}/ui/runs")
    rows = page.get_by_role("row").filter(has=page.get_by_role("link", name=objective))
    expect(rows).to_have_count(1)
    page.get_by_role("checkbox", name="also runs").check()
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**parts=1*")
    assert page.get_by_role("row").count() > 8, "its parts are there"


def find_a_run_by_the_beginning_of_its_id(page, hub, run, other):
    page.goto(f"{hub.url}/ui/runs/{run[:8]}")
    expect(page.locator("dl.facts")).to_contain_text(run)
    page.get_by_text("By its id").click()
    form = page.get_by_label("Other run")
    form.fill("0000nothing")
    form.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("there is no run")
    form.fill(other[:8])
    form.press("Enter")
    page.wait_for_url(f"{hub.url}/ui/runs/{run}/with/{other}")


LOOP = """
name: cards
input: { type: object, required: [people], properties: { people: { type: array, items: { type: string } } } }
steps:
  send:
    for_each: "${workflow.input.people}"
    parallel: 4
    agent: agent_echo
    text: "Hello ${loop.item}!"
"""


def follow_a_loop(page, hub):
    """A loop over hundreds of items says how far it is while it goes on; some items stand there, and all of them on pages."""
    file = pathlib.Path(hub.folder) / "cards.yaml"
    file.write_text(LOOP)
    people = pathlib.Path(hub.folder) / "people.json"
    people.write_text(json.dumps({"people": [f"guest {n}" for n in range(120)]}))
    run = hub.command("workflow", "run", str(file), "--input", str(people), "--detach")
    assert run, "it begins"
    page.goto(f"{hub.url}/ui/runs/{run}")
    send = row(page, "send")
    expect(send.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE)
    expect(send).to_contain_text(re.compile(r"\d+ of 120 done"), timeout=PATIENCE)
    plan = page.get_by_role("group", name="Plan as a picture")
    expect(plan.get_by_role("link")).to_contain_text(re.compile(r"\d+ of 120 done"))
    expect(send).to_contain_text("120 of 120 done", timeout=3 * PATIENCE)
    expect(page.locator("h1 .state")).to_have_text("completed", timeout=PATIENCE)
    assert page.locator("tr[id^=attempt-send]").count() == 20, "some are listed"
    page.get_by_role("link", name="all 120").first.click()
    page.wait_for_url(f"{hub.url}/ui/runs/{run}/steps?step=send")
    assert page.locator("tr[id^=attempt-send]").count() == 50
    expect(page.get_by_role("row").filter(has_text="send, item 1").first).to_be_visible()
    page.get_by_role("link", name="Next page").click()
    expect(page.get_by_role("row").filter(has_text="send, item 100")).to_be_visible()
    return run


def compare_with_a_run_that_is_chosen(page, hub, run, other):
    """The run to compare with is chosen from the latest, and one that came from another leads to it."""
    page.goto(f"{hub.url}/ui/runs/{run}")
    page.locator("select[name=other]").select_option(other)
    page.get_by_role("button", name="Compare").first.click()
    page.wait_for_url(f"{hub.url}/ui/runs/{run}/with/{other}")
