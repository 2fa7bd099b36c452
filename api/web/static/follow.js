// Pages that follow by themselves: what is live, a job, and what a model says of an
// answer. Without this file each is read by loading it again.

const base = document.body.dataset.base;
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const one = (selector, inside = document) => inside.querySelector(selector);

// A browser comes again by itself where a stream is cut; where it was answered with
// something else, a log-in or an error, it never does.
function hear(address, acts) {
  const stream = new EventSource(address);
  for (const [name, act] of Object.entries(acts)) stream.addEventListener(name, act);
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => hear(address, acts), 5000);
  });
}

const list = one("#rows");

if (list) {
  const line = one("#connection");
  const pause = one("#pause");
  let isPaused = Boolean(list.dataset.paused);
  let waiting = null;
  let heard = Date.now();

  const show = (html) => {
    const known = new Set(all("li", list).map((row) => row.id + row.dataset.revision));
    list.innerHTML = html;
    const fresh = all("li", list).filter((row) => !known.has(row.id + row.dataset.revision));
    fresh.forEach((row) => row.classList.add("fresh"));
  };
  const alive = (text) => {
    heard = Date.now();
    line.classList.remove("dead");
    line.textContent = isPaused ? `paused; ${text}` : text;
  };
  hear(`${base}/live/events`, {
    rows: (event) => {
      const told = JSON.parse(event.data);
      alive(`as of ${told.at}`);
      if (isPaused) {
        waiting = told.html;
        one("#new-count").textContent = "there is something new";
      } else show(told.html);
    },
    beat: (event) => alive(`as of ${JSON.parse(event.data).at}`),
  });
  setInterval(() => {
    if (Date.now() - heard < 25000) return;
    line.classList.add("dead");
    const seconds = Math.round((Date.now() - heard) / 1000);
    line.textContent = `no connection for ${seconds} s; what you see may be old`;
  }, 1000);
  pause.setAttribute("role", "button");
  const press = (event) => {
    event.preventDefault();
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Follow" : "Pause";
    if (!isPaused && waiting !== null) {
      show(waiting);
      waiting = null;
      one("#new-count").textContent = "";
    }
  };
  pause.addEventListener("click", press);
  pause.addEventListener("keydown", (event) => { if (event.key === " ") press(event); });
}

const job = one("#job[data-events]");

if (job?.dataset.events) {
  const told = one("#job-said");
  const table = one("#branches tbody");
  const rowOf = new Map();
  const tell = (data, cells) => {
    const name = `${data.name} ${data.sub_query}`;
    if (!rowOf.has(name)) rowOf.set(name, table.insertRow());
    const row = rowOf.get(name);
    row.replaceChildren();
    for (const cell of cells) row.insertCell().textContent = cell ?? "";
  };
  hear(job.dataset.events, {
    accepted: (event) => {
      // All is told from its beginning: what the page was made with comes again.
      rowOf.clear();
      table.replaceChildren();
      const before = JSON.parse(event.data).queue_position;
      told.textContent = before ? `${before} come before it.` : "";
    },
    branch_started: (event) => {
      const data = JSON.parse(event.data);
      tell(data, [data.name, "running", "", ""]);
      told.textContent = `${data.name} is searched`;
    },
    branch_done: (event) => {
      const data = JSON.parse(event.data);
      const why = data.reason || data.error_code;
      const status = why ? `${data.status} (${why})` : data.status;
      tell(data, [data.name, status, data.candidates, `${Math.round(data.took_ms ?? 0)} ms`]);
      told.textContent = `${data.name}: ${status}`;
    },
    done: (event) => { event.target.close(); location.reload(); },
  });
}

// ---- What a model makes of an answer ----------------------------------------------

const asking = one("form.words");

// Where it was asked before, on a page that is loaded again, it is not asked twice.
async function askModel(form) {
  const known = history.state?.words;
  const told = known && await fetch(`${known}?part=answer`);
  if (told?.ok) { await hearWords(form, known); return; }
  const fields = new URLSearchParams(new FormData(form));
  const sent = await fetch(form.action, { method: "POST", body: fields });
  // What is refused is told to whoever presses the button.
  if (!sent.ok) return;
  const place = new URL(sent.url).pathname;
  history.replaceState({ ...history.state, words: place }, "");
  await hearWords(form, place);
}

async function hearWords(form, place) {
  const card = form.closest(".answer");
  const box = document.createElement("div");
  const line = document.createElement("p");
  const tail = document.createElement("span");
  const stop = document.createElement("button");
  const csrf = one("[name=csrf]", form).value;
  box.append("A model words it; each sentence is checked. ", stop, line);
  Object.assign(box, { className: "worded", ariaBusy: "true" });
  Object.assign(stop, { type: "button", className: "plain", textContent: "Stop" });
  line.className = "said";
  stop.addEventListener("click", () => {
    fetch(place, { method: "POST", body: new URLSearchParams({ csrf, action: "stop" }) });
  });
  form.replaceWith(box);
  let said = "";
  let judged = 0;
  const begin = () => { said = ""; judged = 0; line.replaceChildren(tail); };
  begin();
  hear(`${base}/v1/search${place.slice(base.length)}/events`, {
    accepted: begin,
    llm_chunk: (event) => {
      const data = JSON.parse(event.data);
      said = (said + data.text).replace(/\s*\[[#\d][^\]]*\]/g, "").replace(/\s+/g, " ");
      for (const sentence of data.sentences ?? []) {
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
    done: async (event) => {
      event.target.close();
      const told = await fetch(`${place}?part=answer`);
      if (told.status !== 200) { box.replaceChildren("No model has worded it."); return; }
      card.outerHTML = await told.text();
      one("#said").textContent = `answer ready, ${one("#answer .quiet").textContent}`;
    },
  });
}

if (asking) askModel(asking);
