// Says when a page has lost its stream, and sends forms. All else is done by the server, and by htmx, which puts in place what it sends.
const connection = document.getElementById("connection");
const live = document.getElementById("screen");
let isOut = false;
const GONE = live ? "Not connected: what is shown may be old." : "The hub does not answer: what you send does not arrive.";
const lost = () => {
  if (!isOut) connection.textContent = GONE;
};
const found = () => {
  connection.textContent = "";
  forms.forEach(backAgain);
};
document.addEventListener("htmx:sse:close", lost);
document.addEventListener("htmx:sse:error", (event) => {
  if (event.detail.status === 401) {
    isOut = true;
    connection.textContent = "You are not logged in any more: reload the page to log in.";
  }
  lost();
});
document.addEventListener("htmx:sse:before:connection", (event) => { if (isOut) event.preventDefault(); });

// The hub is heard at least every five seconds. Where it is not, the page is not connected, whatever the browser makes of it.
const SILENT_MS = 12_000;
let heard = Date.now();
for (const sign of ["beat", "htmx:sse:after:message"]) {
  document.addEventListener(sign, () => {
    heard = Date.now();
    found();
  });
}

const follow = () => htmx.ajax("GET", live.getAttribute("hx-sse:connect"), { source: live }).catch(lost);

function watch() {
  follow();
  setInterval(() => {
    // A page that nobody sees gives its connection back until it is seen again.
    if (document.hidden || isOut) heard = Date.now();
    if (Date.now() - heard < SILENT_MS) return;
    lost();
    heard = Date.now() - SILENT_MS / 2;
    if (!live._htmx?.sse) follow();
  }, 1_000);
}

// A browser has six connections to a server without HTTP/2, and each stream takes one of them to itself. So four pages have streams; others ask again
// and again, which leaves room for what people do.
const STREAMS = 4;

async function look() {
  while (true) {
    await new Promise((again) => setTimeout(again, 1_000));
    if (document.hidden) continue;
    try {
      const answer = await fetch(location.href, { cache: "no-store", headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30_000) });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = page.getElementById("screen");
      if (!now) throw new Error("it is another page");
      await htmx.swap({ text: now.innerHTML, target: live, swap: "innerMorph", sourceElement: live });
      document.getElementById("waiting").replaceChildren(...page.getElementById("waiting").childNodes);
      found();
    } catch {
      lost();
    }
  }
}

function begin(number = 1) {
  const isShared = /^h[23]/.test(performance.getEntriesByType("navigation")[0]?.nextHopProtocol);
  // Events are not there for who asks, they come.
  if (!navigator.locks || isShared || location.pathname === "/ui/events") watch();
  else if (number > STREAMS) look();
  // A lock is held as long as the page is there.
  else navigator.locks.request(`stream ${number}`, { ifAvailable: true }, (lock) => lock ? (watch(), new Promise(() => {})) : begin(number + 1));
}
// A page that is not kept up to date asks now and then whether the hub is there, so that nobody writes to one that is gone.
const ASK_MS = 3_000;

async function ask() {
  while (true) {
    await new Promise((again) => setTimeout(again, ASK_MS));
    if (document.hidden) continue;
    try {
      await fetch("/ui/assets/icon.svg", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(ASK_MS) });
      found();
    } catch {
      lost();
    }
  }
}

// The scripts of htmx are there by now, and it begins before this does.
setTimeout(() => live ? begin() : ask());

// Who is at the end of a conversation stays there while the answer grows.
const talk = document.querySelector("form.say");
const end = () => document.documentElement.scrollHeight - window.innerHeight;
let isAtEnd = true;
document.addEventListener("scroll", () => { isAtEnd = window.scrollY > end() - 80; });
document.addEventListener("htmx:after:swap", () => {
  if (live && talk && isAtEnd) window.scrollTo(0, end());
});

// Cortex does one thing at a time in a conversation: nothing is sent while it is at work.
const send = talk?.querySelector("button");
const settle = () => {
  if (send) send.disabled = live?.querySelector("[data-busy]") != null;
};
settle();
document.addEventListener("htmx:after:swap", settle);

// Enter sends what is said; with Shift it is a line break.
for (const said of document.querySelectorAll("form.say textarea")) {
  said.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!send?.disabled) said.form.requestSubmit();
    }
  });
}

// A form is sent while its page stays, so that nothing that was filled in is lost where it is refused, or where the hub does not answer.
const forms = new Map();
const HERE = "What you filled in is still here.";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  event.preventDefault();
  const sure = event.submitter?.dataset.sure;
  if (form.ariaBusy === "true" || (sure && !confirm(sure))) return;
  forget(form);
  const tooMuch = beyond(form);
  if (tooMuch) return refuse(form, [tooMuch]);
  form.ariaBusy = "true";
  try {
    const filled = new FormData(form, event.submitter);
    const body = form.enctype === "multipart/form-data" ? filled : new URLSearchParams(filled);
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30_000) });
    const to = new URL(answer.url);
    const isLogin = to.pathname === "/ui/login";
    if (answer.ok && isLogin && !form.matches(".login, .who")) {
      refuse(form, [{ words: `You are not logged in any more. ${HERE} Log in on another tab, and send it again.` }]);
    } else if (answer.ok || (answer.redirected && !isLogin)) {
      // A redirect says that it was taken, whatever comes of the page that it leads to.
      arrive(form, to);
    } else {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      // Under the key of what was refused nothing else can be asked for.
      const key = form.elements.namedItem("key");
      const renewed = page.querySelector("[data-key]")?.dataset.key;
      if (key?.type === "hidden" && renewed) key.value = renewed;
      const told = [...page.querySelectorAll("[role=alert]")].map((alert) => ({ words: alert.textContent, name: alert.dataset.field, stays: "stays" in alert.dataset }));
      refuse(form, told.length ? told : [{ words: `The hub refuses that (${answer.status}). ${HERE}` }]);
    }
  } catch {
    refuse(form, [{ words: `The hub does not answer. ${HERE} Send it again once it is back.`, isAway: true }]);
    lost();
  }
  form.ariaBusy = null;
});

// Files that the hub would refuse are not sent.
function beyond(form) {
  const box = form.querySelector("input[type=file]");
  const bytes = [...(box?.files ?? [])].reduce((sum, file) => sum + file.size, 0);
  if (!box || (box.files.length <= box.dataset.most && bytes <= box.dataset.bytes)) return null;
  return { words: `${box.dataset.bounds} Choose fewer or smaller ones.`, name: box.name };
}

// Files can be dropped on the form, and pasted into the words.
for (const [event, from] of [["drop", "dataTransfer"], ["paste", "clipboardData"]]) {
  talk?.addEventListener(event, (given) => {
    const { files, types } = given[from];
    // Office programs add a picture of what was copied to its text.
    if (files.length === 0 || (event === "paste" && types.includes("text/plain"))) return;
    given.preventDefault();
    talk.querySelector("input[type=file]").files = files;
  });
}
talk?.addEventListener("dragover", (event) => event.preventDefault());

// Where the form leads to its own page, which follows what happens, the page stays.
function arrive(form, to) {
  const isHere = to.pathname === location.pathname && to.search === location.search;
  if (isHere && connection.textContent === "" && live) {
    form.reset();
    // The same words said once more are another message.
    const key = form.elements.namedItem("key");
    if (key?.type === "hidden") key.value = crypto.getRandomValues(new Uint32Array(4)).join("-");
    form.querySelector("textarea")?.focus();
  } else {
    location.assign(to);
  }
}

// Says what is wrong, each thing at its field.
function refuse(form, faults) {
  const shown = faults.map(({ words, name, isAway, stays }) => {
    const fault = document.createElement("p");
    fault.className = "notice bad";
    fault.role = "alert";
    fault.id = `fault-${Math.random().toString(36).slice(2)}`;
    fault.textContent = words;
    return { fault, field: name ? form.elements.namedItem(name) : null, isAway, stays };
  });
  forms.set(form, shown.filter(({ stays }) => !stays));
  place(form);
  for (const { fault } of shown.filter(({ stays }) => stays)) stay(fault);
  const first = shown.find(({ field }) => field)?.field;
  const folded = first?.closest("details");
  if (folded) folded.open = true;
  first?.focus();
}

function place(form) {
  for (const { fault, field } of forms.get(form)) {
    (field?.closest("label") ?? form.lastElementChild).after(fault);
    field?.setAttribute("aria-invalid", "true");
    field?.setAttribute("aria-describedby", fault.id);
  }
}

// Shows a notice where it stays until the page is left: above what is kept up to date, which may lose the form.
function stay(fault) {
  (live ?? document.getElementById("main").firstElementChild).before(fault);
  fault.tabIndex = -1;
  fault.focus();
}

function forget(form) {
  for (const { fault, field } of forms.get(form) ?? []) {
    fault.remove();
    field?.removeAttribute("aria-invalid");
    field?.removeAttribute("aria-describedby");
  }
  forms.delete(form);
}

// What could not be sent because the hub was away can be sent now.
function backAgain(faults) {
  for (const shown of faults.filter(({ isAway }) => isAway)) {
    shown.isAway = false;
    shown.fault.className = "notice good";
    shown.fault.role = "status";
    shown.fault.textContent = `The hub is back. ${HERE} Send it again.`;
  }
}

// What is kept up to date is as the server has it, which knows nothing of the refusals that are shown.
document.addEventListener("htmx:after:swap", () => {
  for (const [form, faults] of forms) {
    if (!form.isConnected) {
      forms.delete(form);
      for (const { fault } of faults) stay(fault);
    } else if (faults.some(({ fault }) => !fault.isConnected)) place(form);
  }
});
