/** The view of the documents: add, watch, retry, cancel, find, remove. */

import { request, route } from "./api.js";
import { afterPause, byId, count, fill, make, say, showDialog } from "./dom.js";
import { begin, run } from "./shell.js";

const PAUSE = 700; // milliseconds between two looks at jobs that run
const SHOWN = 8; // jobs
let index = null;
let next = "";
let timer = 0;
let listed = 0; // version of the index that the list is of
let before = null; // what the jobs were at the last look

/** Return a button; `target` says what it is for, to those who do not see where it stands. */
function button(label, work, target = "") {
  const name = target ? { "aria-label": `${label} ${target}` } : {};
  return make("button", { type: "button", ...name, click: () => run(work) }, label);
}

/** Return a line for a job. */
function jobLine(job) {
  const over = ["done", "failed", "cancelled"].includes(job.status);
  const act = async (path, method) => {
    await request(route(index.name, "jobs", job.id, ...path), { method });
    await watch();
  };
  const buttons = [
    over ? null : button("Cancel", () => act([], "DELETE")),
    ["failed", "cancelled"].includes(job.status) || job.failures.length ? button("Try again", () => act(["retry"], "POST")) : null,
  ];
  const failures = job.failures.map((failure) => make("li", { class: "bad" }, `${failure.item}: ${failure.reason}`));
  const bar = over ? null : make("progress", { max: Math.max(1, job.documents), value: job.done, "aria-label": "progress" });
  const what = count(job.documents, "document");
  return make(
    "li",
    {},
    make(
      "div",
      { class: "grow" },
      make("div", {}, `${what}: ${job.status}${over ? "" : `, ${job.done} read`}`),
      bar,
      job.reason ? make("div", { class: "bad" }, job.reason) : null,
      failures.length ? make("ul", {}, failures) : null,
    ),
    buttons,
  );
}

/** Show the jobs, and look again while one runs. */
async function watch() {
  clearTimeout(timer);
  const { jobs } = await request(route(index.name, "jobs"));
  byId("jobs-section").hidden = !jobs.length;
  fill(byId("jobs"), jobs.slice(0, SHOWN).map(jobLine));
  const state = jobs.map((job) => `${job.id} ${job.status}`).join();
  const newest = Math.max(0, ...jobs.map((job) => job.version || 0));
  if ((before !== null && state !== before) || newest > listed) await listDocuments();
  before = state;
  const busy = jobs.some((job) => ["queued", "running"].includes(job.status));
  if (busy || newest > listed) timer = setTimeout(() => run(watch), PAUSE);
}

function documentLine(found) {
  const removal = () => {
    const really = button("Remove it", async () => {
      dialog.close();
      await request(route(index.name, "documents", found.id), { method: "DELETE" });
      await watch();
    });
    const text = "Its passages, and all facts that only it states, leave the index.";
    const dialog = showDialog(`Remove ${found.title || found.id}?`, make("p", {}, text), make("div", { class: "buttons" }, really));
  };
  const passages = count(found.passages, "passage");
  const state = found.status === "indexed" ? passages : found.status;
  return make(
    "li",
    {},
    make(
      "div",
      { class: "grow" },
      make("div", {}, found.title || found.id),
      make("div", { class: "source" }, found.id),
      found.reason ? make("div", { class: "bad" }, found.reason) : null,
    ),
    make("span", { class: "source" }, state),
    index.writable && found.status !== "failed" ? button("Remove", removal, found.title || found.id) : null,
  );
}

/** Show the first documents, or the ones after those shown. */
async function listDocuments(more = false) {
  const query = new URLSearchParams({ limit: "50", q: byId("q").value.trim(), status: byId("status").value });
  if (more) query.set("after", next);
  const page = await request(`${route(index.name, "documents")}?${query}`);
  const lines = page.documents.map(documentLine);
  listed = page.version;
  more ? byId("documents").append(...lines) : fill(byId("documents"), lines);
  next = page.next || "";
  byId("more").hidden = !next;
  byId("count").textContent = count(page.total, "document");
  if (!page.total && !byId("q").value && !byId("status").value) {
    byId("count").textContent = index.writable ? "No documents yet: drop some files above." : "No documents.";
  }
}

async function upload(files) {
  if (!files.length) return;
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  say(`sending ${count(files.length, "file")} …`);
  await request(route(index.name, "documents"), { method: "POST", body: form });
  say("Received. Reading goes on even if you leave this page.");
  await watch();
}

async function show(chosen) {
  index = chosen;
  before = null;
  byId("adding").hidden = !chosen.writable;
  await listDocuments();
  if (chosen.writable) await watch();
}

const drop = byId("drop");
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  run(() => upload([...event.dataTransfer.files]));
});
byId("files").addEventListener("change", (event) => run(() => upload([...event.target.files])));
byId("paste").addEventListener("submit", (event) => {
  event.preventDefault();
  const documents = [{ title: byId("title").value.trim(), text: byId("text").value }];
  run(async () => {
    await request(route(index.name, "documents"), { method: "POST", body: { documents } });
    byId("paste").reset();
    say("Received.");
    await watch();
  });
});
byId("filter").addEventListener("input", afterPause(200, () => run(() => listDocuments())));
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("more").addEventListener("click", () => run(() => listDocuments(true)));
begin(show);
