/** The view that asks: an answer that streams, its quotes, the chain to it, and the passages; or two side by side. */

import { events } from "./api.js";
import { chainList, pathList } from "./chains.js";
import { byId, fill, make, say } from "./dom.js";
import { markedWords, passageCard, readable } from "./passages.js";
import { begin, recall, remember, run, tellIfEmpty } from "./shell.js";

const CHAINS = 4; // shown, all but the first on demand
let index = null;
let running = null;

/** The column of one retriever's answer. */
class AnswerColumn {
  constructor(retriever) {
    this.retriever = retriever;
    this.passages = [];
    this.quotes = [];
    this.text = "";
    this.answer = make("p", { class: "answer-text", "aria-live": "polite" });
    this.status = make("p", { class: "source" }, "searching …");
    this.parts = Object.fromEntries(["quotes", "steps", "chains", "passages", "notes"].map((part) => [part, make("div")]));
    this.element = make("section", { class: "answer", "aria-label": `Answer by ${retriever}` }, this.answer, this.status);
    this.element.append(...Object.values(this.parts));
    this.notes = [];
    this.paths = [];
    this.steps = [];
  }

  /** Take one event of the stream. */
  take(name, data) {
    if (name === "passage") {
      this.passages.push(data);
      if (this.passages.length === 1) this.parts.passages.append(make("h2", {}, "Passages"));
      this.parts.passages.append(passageCard(data, [], `${data.rank}.`));
    } else if (name === "token") {
      this.text = data.restart ? data.text : this.text + data.text;
      this.answer.textContent = this.text;
    } else if (name === "path") {
      this.paths.push(data);
    } else if (name === "step") {
      this.steps.push(data);
      this.showSteps();
    } else if (name === "note") {
      this.notes.push(data.text);
    } else if (name === "citation") {
      this.quotes.push(data);
      this.showQuotes();
    } else if (name === "done") {
      this.finish(data);
    } else if (name === "error") {
      this.fail(data.detail || data.title);
    }
  }

  finish(answer) {
    const found = answer.evidence;
    this.quotes = answer.citations;
    this.notes = [...new Set([...found.notes, ...answer.notes])];
    const text = answer.headline || "The passages found hold no answer.";
    fill(this.answer, answer.weak ? make("span", { class: "weak" }, text) : text);
    if (answer.failure) this.answer.append(make("span", { class: "weak" }, ` ${answer.failure}`));
    const seconds = found.usage.seconds + answer.usage.seconds;
    this.status.textContent = `${found.retriever}, ${seconds.toFixed(2)} s, version ${answer.version} of the index`;
    this.showQuotes(answer.text);
    this.showOthers(answer.others);
    this.showChains(found);
    const cards = this.passages.map((passage) => passageCard(passage, this.marks(found), `${passage.rank}.`));
    if (cards.length) fill(this.parts.passages, make("h2", {}, "Passages"), cards);
    if (this.notes.length) {
      const lines = this.notes.map((note) => make("li", {}, note));
      fill(this.parts.notes, make("details", {}, make("summary", {}, "How it was found"), make("ul", {}, lines)));
    }
  }

  /** Return what is marked in the passages: the quotes, and the sentences of the first chain. */
  marks(found) {
    return [...this.quotes, ...(found.chains[0]?.sentences || [])];
  }

  /** Show what was true before or after, and what is said against the answer. */
  showOthers(others) {
    const lines = others.map((other) => {
      const said = other.kind === "contradicts" ? "Said against it" : `${other.kind === "until" ? "Until" : "Since"} ${other.day}`;
      return make("li", {}, `${said}: ${other.text}`, make("q", {}, readable(other.citation.quote)));
    });
    if (lines.length) this.parts.quotes.append(make("ul", { class: "others" }, lines));
  }

  /** Show the quotes, the answer marked in the first of them. */
  showQuotes(text = "") {
    const items = this.quotes.map((quote, number) => {
      const shown = number === 0 ? markedWords(quote.quote, text) : readable(quote.quote);
      return make("li", {}, "“", shown, "” ", make("span", { class: "source" }, quote.title || quote.document_id));
    });
    fill(this.parts.quotes, items.length ? make("ul", { class: "quotes" }, items) : null);
  }

  showChains(found) {
    const chains = found.chains.slice(0, CHAINS).map((chain) => chainList(index.name, chain));
    const paths = this.paths.map((path) => pathList(index.name, path.triples));
    if (!chains.length && !paths.length) return;
    const others = chains.length > 1 ? make("details", {}, make("summary", {}, "Other chains"), chains.slice(1)) : null;
    fill(this.parts.chains, make("h2", {}, "How they connect"), paths, chains.slice(0, 1), others);
  }

  showSteps() {
    const items = this.steps.map((step, number) =>
      make(
        "li",
        {},
        make("h3", {}, `Step ${number + 1}: ${step.query}`),
        step.new.length ? make("p", {}, `New: ${step.new.join("; ")}`) : null,
        step.reasoning ? make("p", {}, step.reasoning) : null,
        step.verdict ? make("p", { class: "source" }, step.verdict) : null,
      ),
    );
    fill(this.parts.steps, make("h2", {}, "Steps"), make("ol", { class: "steps" }, items));
  }

  fail(text) {
    this.status.textContent = text;
    this.status.classList.add("bad");
  }
}

function request(retriever) {
  const [where, model] = [byId("where").value.trim(), byId("model").value];
  return {
    question: byId("question").value.trim(),
    retriever,
    k: Number(byId("passages").value) || 5,
    ...(where ? { where } : {}),
    ...(model ? { model } : {}),
    stream: true,
  };
}

async function ask() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const retrievers = [byId("retriever").value, byId("second").value].filter(Boolean);
  const columns = retrievers.map((name) => new AnswerColumn(name));
  fill(byId("answers"), columns.map((column) => column.element));
  byId("answers").classList.toggle("two", columns.length > 1);
  remember({ q: byId("question").value.trim(), retriever: retrievers[0], second: retrievers[1] || "" });
  say("");
  byId("stop").hidden = false;
  await Promise.all(columns.map((column) => follow(column, signal)));
  if (running?.signal === signal) byId("stop").hidden = true;
}

async function follow(column, signal) {
  try {
    for await (const [name, data] of events(`/v1/${encodeURIComponent(index.name)}/ask`, request(column.retriever), signal)) {
      column.take(name, data);
    }
  } catch (error) {
    column.fail(error.name === "AbortError" ? "stopped" : error.message);
  }
}

async function show(chosen, listed) {
  index = chosen;
  const options = (first) => [first, ...listed.retrievers.map((r) => make("option", { value: r.name, title: r.summary }, r.name))];
  fill(byId("retriever"), options(make("option", { value: "auto" }, "the index's own")));
  fill(byId("second"), options(make("option", { value: "" }, "nothing")));
  fill(byId("model"), make("option", { value: "" }, "quotes alone"), listed.models.map((name) => make("option", {}, name)));
  for (const [id, name] of [["retriever", "retriever"], ["second", "second"]]) {
    if (listed.retrievers.some((r) => r.name === recall(name))) byId(id).value = recall(name);
  }
  fill(byId("answers"));
  if (await tellIfEmpty(chosen.name, chosen.writable)) return;
  if (recall("q")) {
    byId("question").value = recall("q");
    ask(); // not waited for: another question may stop it
  }
}

byId("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(ask);
});
byId("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("question-form").requestSubmit();
  }
});
byId("stop").addEventListener("click", () => running?.abort());
begin(show);
