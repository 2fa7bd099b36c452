// Keys, the pane beside a list, and copying. All of it is comfort: without this file
// every page reads and every form sends the same.

const body = document.body;
const base = body.dataset.base;
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const one = (selector, inside = document) => inside.querySelector(selector);
const wide = matchMedia("(min-width: 1100px)");

// ---- Copying ----------------------------------------------------------------------

const absolute = (link) => new URL(link.getAttribute("href"), location.href).href;

function quoteOf(entry) {
  const title = one("#title, h1", entry)?.textContent.trim() ?? "";
  const said = one(".s:target", entry) ?? one(".s", entry);
  const link = one("a.permalink", entry);
  return `> ${said?.textContent.trim() ?? title}\n\n[${title}](${absolute(link)})\n`;
}

function quoteOfAnswer(answer) {
  const said = all(".said", answer).map((part) => {
    const copy = part.cloneNode(true);
    all(".quote", copy).forEach((quote) => quote.remove());
    return copy.textContent.trim();
  });
  const sources = all(".sources li", answer).map(
    (item, n) => `[${n + 1}]: ${absolute(one("a", item))}`,
  );
  return `${said.join("\n\n")}\n\n${sources.join("\n")}\n`;
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  say("copied");
  if (!button) return;
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

function say(text) {
  const line = one("#said");
  if (line) line.textContent = text;
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  const answer = button?.closest(".answer");
  if (!button) return;
  copy(answer ? quoteOfAnswer(answer) : quoteOf(button.closest(".entry")), button);
});

// ---- The pane beside the list -----------------------------------------------------

const pane = one("#pane");

async function openBeside(link, push = true) {
  const place = link.dataset.open;
  const address = new URL(link.href);
  address.searchParams.set("part", "pane");
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  // Whatever went wrong is shown by the page itself.
  if (!answer.ok || answer.redirected) { location.href = link.href; return; }
  pane.innerHTML = await answer.text();
  pane.hidden = false;
  pane.scrollTop = 0;
  one(".side").scrollTop = 0;
  all(".hit.current").forEach((hit) => hit.classList.remove("current"));
  link.closest(".hit")?.classList.add("current");
  say(`${link.textContent.trim()}, beside the list`);
  if (!push) return;
  const here = new URL(location.href);
  here.searchParams.set("open", place);
  history.pushState({ ...history.state, open: place }, "", here);
}

function closePane() {
  if (!pane || pane.hidden) return false;
  pane.hidden = true;
  pane.replaceChildren();
  one(".hit.current .open")?.focus();
  all(".hit.current").forEach((hit) => hit.classList.remove("current"));
  const here = new URL(location.href);
  here.searchParams.delete("open");
  history.pushState({ ...history.state, open: null }, "", here);
  return true;
}

if (pane) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.open");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.button;
    if (!link || !wide.matches || !plain) return;
    event.preventDefault();
    openBeside(link);
  });
  addEventListener("popstate", () => {
    const place = new URL(location.href).searchParams.get("open");
    const link = place && one(`a.open[data-open="${CSS.escape(place)}"]`);
    if (link) openBeside(link, false);
    else { pane.hidden = true; pane.replaceChildren(); }
  });
}

// ---- Keys -------------------------------------------------------------------------

const rows = () => all("a.open, .row-title a");
const shown = () => (pane && !pane.hidden ? pane : one("main"));
const current = () => {
  const row = document.activeElement?.closest(".hit, .row");
  return row && one("a.open, .row-title a", row);
};

function move(step) {
  const links = rows();
  if (!links.length) return;
  const at = links.indexOf(current());
  const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  next.focus();
  next.closest("li, article").scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => {
    const box = one("#q");
    if (!box) { location.href = `${base}/`; return; }
    box.focus();
    box.select();
  },
  j: () => move(1),
  k: () => move(-1),
  o: () => one("a.original", shown())?.click(),
  t: () => {
    const thread = one("#thread", shown());
    const first = thread && one("a", thread);
    thread?.scrollIntoView({ block: "start" });
    first?.focus();
  },
  w: () => {
    const row = document.activeElement?.closest(".hit") ?? one(".hit.current, .hit");
    const why = row && one(".why", row);
    if (why) { why.open = !why.open; one("summary", why).focus(); }
  },
  c: () => {
    const entry = one(".entry", shown());
    if (entry) { copy(quoteOf(entry), one("button.copy", entry)); return; }
    const link = current();
    if (link) copy(`[${link.textContent.trim()}](${absolute(link)})`);
  },
  "?": () => { location.href = `${base}/help#keys`; },
};

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const cite = one(".cite:focus-within, .cite:hover");
    if (cite && !cite.classList.contains("dismissed")) {
      cite.classList.add("dismissed");
    } else if (!closePane() && isTyping(event.target)) event.target.blur();
    return;
  }
  if (body.dataset.keys !== "on" || isTyping(event.target)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// A quote that was dismissed comes back for whoever has left it and comes back to it.
for (const kind of ["mouseover", "focusin"]) {
  addEventListener(kind, () => {
    for (const cite of all(".cite.dismissed:not(:hover, :focus-within)")) {
      cite.classList.remove("dismissed");
    }
  });
}

// ---- Pictures ---------------------------------------------------------------------

addEventListener("keydown", (event) => {
  const picture = document.activeElement?.closest(".gallery .picture");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!picture || !step) return;
  const pictures = all(".picture", picture.parentElement);
  const next = pictures[pictures.indexOf(picture) + step];
  if (next) { event.preventDefault(); next.focus(); }
});

// ---- The clock --------------------------------------------------------------------

const clock = one(".clock time");

function tick() {
  const at = new Date();
  const shownIn = (timeZone) => new Intl.DateTimeFormat("en-GB", {
    timeZone, hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  }).format(at);
  const zone = clock.dataset.zone;
  clock.textContent = zone === "UTC" ? shownIn("UTC") : `${shownIn(zone)} / ${shownIn("UTC")}`;
}

if (clock?.dataset.zone) { tick(); setInterval(tick, 15000); }
