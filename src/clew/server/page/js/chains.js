/** Chains of sentences and paths of facts, drawn hop by hop. */

import { make, say } from "./dom.js";
import { openEdge, openPassage, readable } from "./passages.js";

const guarded = (work) => () => work().catch((error) => say(error.message, true));

/** Return a chain: its sentences in their order, and between two of them what joins them. */
export function chainList(index, chain) {
  const items = chain.sentences.map((sentence, position) => {
    const open = guarded(() => openPassage(index, sentence.passage_id, [sentence]));
    const source = make("button", { type: "button", class: "link source", click: open }, sentence.title || sentence.document_id);
    const last = position === chain.sentences.length - 1;
    const bridge = last ? null : make("span", { class: "bridge" }, `joined by ${chain.bridges[position] || "a shared word"}`);
    return make("li", { class: "arrives" }, "“", readable(sentence.quote), "” ", source, bridge);
  });
  return make("ol", { class: "chain" }, items);
}

/** Return the names of a triple's ends, which are the same in all triples of an entity. */
const ends = (triple) => [triple.head_name || triple.head, triple.tail_name || triple.tail];

/** Return a path: names, and edges that open the sentence that states them. */
export function pathList(index, triples) {
  const items = [];
  const [first, second] = triples.map(ends);
  const turned = second && second.includes(first[0]) && !second.includes(first[1]);
  let last = turned ? first[1] : null;
  if (turned) items.push(make("li", { class: "end" }, last));
  for (const triple of triples) {
    const [head, tail] = ends(triple);
    const forward = last === null || head === last;
    const [start, end] = forward ? [head, tail] : [tail, head];
    if (start !== last) items.push(make("li", { class: "end" }, start));
    const label = forward ? triple.relation : `${triple.relation} (of)`;
    const edge = make("button", { type: "button", class: "link", click: guarded(() => openEdge(index, triple)) }, label);
    items.push(make("li", { class: "edge" }, edge), make("li", { class: "end" }, end));
    last = end;
  }
  return make("ol", { class: "path" }, items);
}
