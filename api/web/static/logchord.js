// Copying, the pane beside a list, keys, and pages that follow by themselves. All of it is
// comfort: without this file every page reads, loaded again, and every form asks the same.

const { base, keys } = document.body.dataset;
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const one = (selector, inside = document) => inside.querySelector(selector);
const say = (text) => { one("#said").textContent = text; };

// Which link led here was told once; whoever copies the address took none.
function showPlace(change, name, value) {
  const here = new URL(location.href);
  if (value) here.searchParams.set(name, value);
  else here.searchParams.delete(name);
  history[change](history.state, "", here);
}

document.documentElement.classList.add("scripted");
if (location.search.includes("via=")) showPlace("replaceState", "via", null);
if (one("#again")) location.replace(one("#again").href + location.hash);
// Options that are left as usual are not in an address that one passes on.
one("form.box")?.addEventListener("formdata", ({ formData }) => [...formData]
  .forEach(([name, value]) => value || name === "q" || formData.delete(name)));

function quoteOf(entry) {
  const [title, said] = [one("#title", entry), one(".s:target", entry) ?? one(".s", entry)]
    .map((part) => part?.textContent.trim());
  return `> ${said ?? title}\n\n[${title}](${one("a.permalink", entry).href})\n`;
}

function quoteOfAnswer(answer) {
  const said = all(".said", answer).map((part) => part.innerText.trim());
  const sources = all(".sources li a", answer).map((link, n) => `[${n + 1}]: ${link.href}`);
  return `${said.join("\n\n")}\n\n${sources.join("\n")}\n`;
}

// The clipboard of scripts is there on encrypted pages alone, this command on all.
function copy(text, button) {
  const put = (event) => { event.clipboardData.setData("text/plain", text); event.preventDefault(); };
  addEventListener("copy", put, { once: true });
  say(document.execCommand("copy") ? "copied" : "this browser does not copy");
  if (!button) return;
  button.dataset.label ??= button.textContent;
  button.textContent = one("#said").textContent;
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  const answer = button?.closest(".answer");
  if (button) copy(answer ? quoteOfAnswer(answer) : quoteOf(button.closest(".entry")), button);
});

const pane = one("#pane");
let awaited = null;
function emptyPane() {
  awaited = null;
  pane.hidden = true;
  pane.replaceChildren();
  all(".hit.current").forEach((hit) => hit.classList.remove("current"));
}

async function openBeside(link, push = true) {
  const address = new URL(link.href);
  address.searchParams.set("part", "pane");
  awaited = address;
  const html = await fetch(address, { headers: { accept: "text/html" } })
    .then((answer) => answer.ok && !answer.redirected && answer.text()).catch(() => null);
  // Meanwhile another was asked for, or none.
  if (awaited !== address) return;
  // Whatever went wrong is shown by the page itself.
  if (!html) { location.href = link.href; return; }
  emptyPane();
  pane.innerHTML = html;
  pane.hidden = false;
  one(".side").scrollTop = 0;
  link.closest(".hit")?.classList.add("current");
  say(`${link.textContent.trim()}, beside the list`);
  if (push) showPlace("pushState", "open", link.dataset.open);
}

if (pane) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.open");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.button;
    if (!link || !plain || !matchMedia("(min-width: 1100px)").matches) return;
    event.preventDefault();
    openBeside(link);
  });
  addEventListener("popstate", () => {
    const place = new URL(location.href).searchParams.get("open");
    const link = place && one(`a.open[data-open="${CSS.escape(place)}"]`);
    if (link) openBeside(link, false); else emptyPane();
  });
}

const shown = () => (pane && !pane.hidden ? pane : one("main"));
const current = () => one(".hit:focus-within a.open, .row:focus-within .row-title a");

function move(step) {
  const links = all("a.open, .row-title a");
  const at = Math.min(Math.max(links.indexOf(current()) + step, 0), links.length - 1);
  links[at]?.focus();
  links[at]?.closest("li, article").scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => {
    const box = one("#q");
    if (!box) location.href = `${base}/`;
    box?.focus();
    box?.select();
  },
  j: () => move(1),
  k: () => move(-1),
  o: () => one("a.original", shown())?.click(),
  t: () => {
    one("#thread", shown())?.scrollIntoView({ block: "start" });
    one("#thread a", shown())?.focus();
  },
  w: () => {
    const [summary] = [":focus-within", ".current", ""]
      .flatMap((which) => all(`.hit${which} .why summary`));
    summary?.click();
    summary?.focus();
  },
  c: () => {
    const [entry, link] = [one(".entry", shown()), current()];
    if (entry) copy(quoteOf(entry), one("button.copy", entry));
    else if (link) copy(`[${link.textContent.trim()}](${new URL(link.dataset.cite ?? link.href, link)})`);
  },
  "?": () => { location.href = `${base}/help#keys`; },
};

addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "Escape") {
    const cite = one(".cite:focus-within:not(.dismissed), .cite:hover:not(.dismissed)");
    if (cite) cite.classList.add("dismissed");
    else if (pane && !pane.hidden) {
      one(".hit.current .open")?.focus();
      emptyPane();
      showPlace("pushState", "open", null);
    } else if (isTyping) event.target.blur();
    return;
  }
  // Among pictures the arrows lead on.
  const picture = document.activeElement.closest(".gallery .picture");
  const step = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" };
  const next = picture?.[step[event.key]];
  if (next) { event.preventDefault(); next.focus(); return; }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (keys !== "on" || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

// A quote that was dismissed comes back for whoever has left it and comes back to it.
const showAgain = () => all(".cite.dismissed:not(:hover, :focus-within)")
  .forEach((cite) => cite.classList.remove("dismissed"));
["mouseover", "focusin"].forEach((kind) => addEventListener(kind, showAgain));

// A browser comes again by itself where a stream is cut; where it was answered with
// something else, a log-in or an error, it never does.
function hear(address, acts) {
  const stream = new EventSource(address);
  const listen = ([name, act]) => stream.addEventListener(name, ({ data }) => act(JSON.parse(data)));
  Object.entries(acts).forEach(listen);
  stream.addEventListener("done", () => stream.close());
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => hear(address, acts), 5000);
  });
}

function followLive(list) {
  const [line, pause, news] = ["#connection", "#pause", "#new-count"].map((name) => one(name));
  let isPaused = Boolean(list.dataset.paused);
  let [waiting, heard] = [null, Date.now()];
  const nameOf = (row) => row.id + row.dataset.revision;
  const show = (html) => {
    const known = new Set(all("li", list).map(nameOf));
    list.innerHTML = html;
    all("li", list).forEach((row) => row.classList.toggle("fresh", !known.has(nameOf(row))));
    waiting = null;
    news.textContent = "";
  };
  const beat = ({ at }) => {
    heard = Date.now();
    line.classList.remove("dead");
    line.textContent = `${isPaused ? "paused; " : ""}as of ${at}`;
  };
  pause.addEventListener("click", (event) => {
    event.preventDefault();
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Follow" : "Pause";
    if (!isPaused && waiting !== null) show(waiting);
  });
  hear(`${base}/live/events`, {
    beat,
    rows: (told) => {
      beat(told);
      waiting = told.html;
      if (isPaused) news.textContent = "there is something new"; else show(waiting);
    },
  });
  setInterval(() => {
    const seconds = Math.round((Date.now() - heard) / 1000);
    if (seconds < 25) return;
    line.classList.add("dead");
    line.textContent = `no connection for ${seconds} s; what you see may be old`;
  }, 1000);
}

function followJob(events) {
  const told = one("#job-said");
  const table = one("#branches tbody");
  const rowOf = new Map();
  const tell = (data, status, ...cells) => {
    const name = `${data.name} ${data.sub_query}`;
    if (!rowOf.has(name)) rowOf.set(name, table.insertRow());
    const row = rowOf.get(name);
    row.replaceChildren();
    for (const cell of [data.name, status, ...cells]) row.insertCell().textContent = cell ?? "";
    told.textContent = `${data.name}: ${status}`;
  };
  hear(events, {
    accepted: ({ queue_position: before }) => {
      // All is told from its beginning: what the page was made with comes again.
      rowOf.clear();
      table.replaceChildren();
      told.textContent = before ? `${before} come before it.` : "";
    },
    branch_started: (data) => tell(data, "running", "", ""),
    branch_done: (data) => {
      const why = data.reason || data.error_code;
      const took = `${Math.round(data.took_ms ?? 0)} ms`;
      tell(data, why ? `${data.status} (${why})` : data.status, data.candidates, took);
    },
    done: () => location.reload(),
  });
}

// Where it was asked before, on a page that is loaded again, it is not asked twice.
async function askModel(form) {
  const known = history.state?.words;
  if (known && (await fetch(`${known}?part=answer`)).ok) { hearWords(form, known); return; }
  const fields = { method: "POST", body: new URLSearchParams(new FormData(form)) };
  const sent = await fetch(form.action, fields);
  // What is refused is told to whoever presses the button.
  if (!sent.ok) return;
  const place = new URL(sent.url).pathname;
  history.replaceState({ ...history.state, words: place }, "");
  hearWords(form, place);
}

function hearWords(form, place) {
  const [card, csrf] = [form.closest(".answer"), one("[name=csrf]", form).value];
  const box = one("#worded", card).content.firstElementChild;
  const tail = document.createElement("span");
  one("button", box).addEventListener("click", () => {
    fetch(place, { method: "POST", body: new URLSearchParams({ csrf, action: "stop" }) });
  });
  form.replaceWith(box);
  let [said, judged] = ["", 0];
  const begin = () => { said = ""; judged = 0; one(".said", box).replaceChildren(tail); };
  begin();
  hear(`${base}/v1/search${place.slice(base.length)}/events`, {
    accepted: begin,
    llm_chunk: ({ text, sentences }) => {
      said = (said + text).replace(/\s*\[[#\d][^\]]*\]/g, "").replace(/\s+/g, " ");
      for (const sentence of sentences ?? []) {
        const piece = document.createElement(sentence.holds ? "span" : "s");
        piece.className = sentence.holds ? "holds" : "fails";
        piece.textContent = sentence.text;
        if (sentence.flaw) piece.title = `not borne out: ${sentence.flaw}`;
        tail.before(piece, " ");
        const at = said.indexOf(sentence.text, judged);
        if (at >= 0) judged = at + sentence.text.length;
      }
      tail.textContent = said.slice(judged);
    },
    done: async () => {
      box.ariaBusy = "false";
      const told = await fetch(`${place}?part=answer`);
      if (told.status === 200) card.outerHTML = await told.text();
      else box.textContent = "No model has worded it.";
      say(`answer ready, ${one("#answer .quiet").textContent}`);
    },
  });
}

setInterval(() => {
  const clock = one(".clock time");
  const told = (timeZone) => new Date().toLocaleTimeString("en-GB", {
    timeZone, hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  clock.textContent = [...new Set([clock.dataset.zone, "UTC"])].map(told).join(" / ");
}, 15000);
if (one("#rows")) followLive(one("#rows"));
if (one("#job")?.dataset.events) followJob(one("#job").dataset.events);
if (one("form.words")) askModel(one("form.words"));
