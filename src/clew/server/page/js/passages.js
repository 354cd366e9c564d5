/** Passages with marked quotes. Places are counted in characters of Unicode, as the server counts them. */

import { request, route } from "./api.js";
import { make, showDialog } from "./dom.js";

const LINK = /\[([^[\]]+)\]\(([^()\s]+)\)/g; // of Markdown

/** Return a text in pieces as `readable` does, with the first place of some words marked. */
export function markedWords(text, words) {
  const at = words ? text.indexOf(words) : -1;
  if (at < 0) return readable(text);
  return [readable(text.slice(0, at)), make("mark", {}, words), readable(text.slice(at + words.length))];
}

/** Return a text in pieces, with the words of a Markdown link alone; it leads nowhere, and its target is its title. */
export function readable(text) {
  const pieces = [];
  let at = 0;
  for (const link of text.matchAll(LINK)) {
    pieces.push(text.slice(at, link.index), make("span", { class: "linked", title: link[2] }, link[1]));
    at = link.index + link[0].length;
  }
  return [...pieces, text.slice(at)];
}

/** Return the pieces of a text, with the ranges `[start, end)` marked. */
export function marked(text, ranges) {
  const characters = Array.from(text);
  const pieces = [];
  let at = 0;
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const from = Math.max(start, at);
    if (end <= from || from >= characters.length) continue;
    const inside = readable(characters.slice(from, end).join(""));
    pieces.push(...readable(characters.slice(at, from).join("")), make("mark", {}, inside));
    at = end;
  }
  return [...pieces, ...readable(characters.slice(at).join(""))];
}

/** Return the ranges of a passage that quotes cover. */
export const quoted = (passage, quotes) =>
  quotes.filter((q) => q.passage_id === passage.id).map((q) => [q.start - passage.start, q.end - passage.start]);

/** Return a passage; `rank` stands before its title. */
export function passageCard(passage, quotes, rank = "") {
  const text = make("p", { class: "text" }, marked(passage.text, quoted(passage, quotes)));
  const heading = make("h3", {}, rank ? make("span", { class: "rank" }, rank) : null, passage.title || passage.document_id);
  return make("article", { class: "passage arrives" }, heading, make("p", { class: "source" }, passage.document_id), text);
}

/** Show a passage in a dialog, with quotes marked, and the passages around it. */
export async function openPassage(index, id, quotes = []) {
  const passage = await request(route(index, "passages", id));
  const neighbours = [
    ["Passage before", passage.previous],
    ["Passage after", passage.next],
  ].filter(([, other]) => other);
  const buttons = neighbours.map(([label, other]) =>
    make("button", { type: "button", click: () => (dialog.close(), openPassage(index, other.id)) }, label),
  );
  const dialog = showDialog(passage.title || passage.document_id, passageCard(passage, quotes), make("div", { class: "buttons" }, buttons));
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}

/** Show the sentence that states an edge, in its passage; an edge of an imported graph may have none. */
export async function openEdge(index, edge) {
  const title = `${edge.head} — ${edge.relation} → ${edge.tail}`;
  let quotes = edge.quotes || [];
  const passageId = quotes[0]?.passage_id || edge.passages[0];
  if (!passageId) {
    showDialog(title, make("p", {}, "This edge comes from an imported graph; no passage states it."));
    return;
  }
  const passage = await request(route(index, "passages", passageId));
  if (!quotes.length) {
    const same = (other) => ["head", "relation", "tail"].every((part) => other[part] === edge[part]);
    quotes = passage.relations.find(same)?.quotes || [];
  }
  const dialog = showDialog(title, passageCard(passage, quotes));
  dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
}
