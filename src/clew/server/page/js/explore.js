/** The view to wander in: find an entity, expand, hide, find the path between two, read the sentences beside. */

import { request, route } from "./api.js";
import { afterPause, byId, count, fill, make, say } from "./dom.js";
import { Graph } from "./graph.js";
import { correctionButtons } from "./corrections.js";
import { openEdge, openPassage } from "./passages.js";
import { begin, recall, remember, run, tellIfEmpty } from "./shell.js";

const RELATIONS = 60; // edges that one expansion draws
const LISTED = 300; // nodes that the nested list shows
let index = "";
let mayCorrect = false;
let shown = 0; // changes of what is beside the graph: a reply that comes after a later one does not show itself
let emptied = 0; // times that the graph was cleared: a reply from before is not drawn
const graph = new Graph(byId("graph"), (id) => run(() => show(id)), (edge) => run(() => openEdge(index, edge)));

const action = (label, work, kind = "") => make("button", { type: "button", class: kind, click: () => run(work) }, label);

async function load(name, limit = RELATIONS) {
  return request(`${route(index, "entities", name)}?limit=${limit}`);
}

/** Return the other ends of an entity's edges as entities. */
function ends(entity) {
  return entity.relations.flatMap((r) => [{ id: r.head_id, name: r.head }, { id: r.tail_id, name: r.tail }]);
}

function distinct(entities) {
  return [...new Map(entities.map((entity) => [entity.id, entity])).values()];
}

/** Draw an entity with its neighbours, and show it beside. */
async function expand(id) {
  const [show, draw] = [++shown, emptied];
  const entity = await load(id);
  if (draw !== emptied) return;
  graph.add(distinct([{ id: entity.id, name: entity.name }, ...ends(entity)]), entity.relations, entity.id);
  list();
  if (show !== shown) return;
  describe(entity);
  if (entity.relations_truncated) say(`${entity.name} has ${count(entity.degree, "relation")}; ${entity.relations.length} of them drawn.`);
}

async function show(id) {
  const mine = ++shown;
  const entity = await load(id);
  if (mine === shown) describe(entity);
}

/** Show nothing beside the graph. */
function showNothing() {
  shown++;
  fill(byId("details"));
}

/** Draw nothing, and show nothing beside. */
function clear() {
  emptied++;
  graph.clear();
  showNothing();
  list();
}

/** Show an entity beside the graph. */
function describe(entity) {
  graph.select(entity.id);
  remember({ entity: entity.id });
  const relations = entity.relations.map((r) =>
    make("li", {}, `${r.head} `, action(r.relation, () => openEdge(index, r), "link"), ` ${r.tail}`),
  );
  const passages = entity.passage_ids.map((id) => make("li", {}, action(id, () => openPassage(index, id), "link")));
  const hide = () => {
    graph.hide(entity.id);
    showNothing();
    list();
  };
  const section = (title, items) => (items.length ? [make("h2", {}, title), make("ul", {}, items)] : []);
  fill(
    byId("details"),
    make("h2", {}, entity.name),
    make("p", { class: "source" }, `${count(entity.degree, "relation")}, in ${count(entity.passages, "passage")}`),
    make(
      "div",
      { class: "buttons" },
      action("Expand", () => expand(entity.id), "main-action"),
      action("Hide", hide),
      action("Path from here", () => {
        byId("from").value = entity.name;
        byId("to").focus();
      }),
    ),
    mayCorrect ? correctionButtons(index, entity, redrawAfterDecision) : null,
    section("Relations", relations),
    section("Passages", passages),
  );
}

/** Redraw an entity after a decision on it; its edges, and those of its neighbours, may be others. */
async function redrawAfterDecision(name, text) {
  clear();
  remember({ entity: "", from: "", to: "" });
  if (name) await find(name);
  say(text);
}

/** Write the graph as a nested list: each entity with its edges. */
function list() {
  const nodes = graph.nodes.slice(0, LISTED);
  const items = nodes.map((node) => {
    const edges = graph.edgesOf(node.id).map((edge) => {
      const [text, other, id] =
        edge.head_id === node.id ? [`${edge.relation} → `, edge.tail, edge.tail_id] : [`← ${edge.relation} `, edge.head, edge.head_id];
      return make("li", {}, action(text, () => openEdge(index, edge), "link"), " ", action(other, () => show(id), "link"));
    });
    return make("li", {}, action(node.name, () => expand(node.id), "link"), make("ul", {}, edges));
  });
  const rest = graph.size - nodes.length;
  fill(byId("nested"), make("ul", {}, items), rest > 0 ? make("p", {}, `and ${rest} more`) : null);
}

async function connect(from, to) {
  const [show, draw] = [++shown, emptied];
  const found = await request(`${route(index, "paths")}?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`);
  if (!found.paths.length) {
    say(`No path of four steps joins ${found.start.name} and ${found.end.name}.`);
    return;
  }
  if (draw !== emptied) return;
  const entities = distinct(found.paths.flatMap((path) => path.entities));
  graph.add(entities, found.paths.flatMap((path) => path.edges));
  list();
  if (show !== shown) return;
  const steps = found.paths[0].edges.map((edge) =>
    make("li", {}, `${edge.head} `, action(edge.relation, () => openEdge(index, edge), "link"), ` ${edge.tail}`),
  );
  fill(byId("details"), make("h2", {}, `${found.start.name} to ${found.end.name}`), make("ol", {}, steps));
  say(`${found.paths.length} ${found.paths.length === 1 ? "path" : "paths"} found.`);
  remember({ from: found.start.id, to: found.end.id });
}

const suggest = afterPause(150, (text) =>
  run(async () => {
    if (!text.trim()) return;
    const found = await request(`${route(index, "entities")}?limit=12&q=${encodeURIComponent(text)}`);
    fill(byId("names"), found.entities.map((entity) => make("option", { value: entity.name })));
  }),
);

async function find(text) {
  const found = await request(`${route(index, "entities")}?limit=1&q=${encodeURIComponent(text)}`);
  if (!found.entities.length) throw new Error(`No entity is called ${text}. Try a part of its name.`);
  await expand(found.entities[0].id);
}

async function open(chosen) {
  if (index && index !== chosen.name) {
    remember({ entity: "", from: "", to: "" }); // the other index has other entities
    for (const id of ["name", "from", "to"]) byId(id).value = "";
  }
  index = chosen.name;
  mayCorrect = chosen.writable && !chosen.filtered;
  clear();
  if (await tellIfEmpty(chosen.name, chosen.writable)) return;
  if (recall("from") && recall("to")) await connect(recall("from"), recall("to"));
  else if (recall("entity")) await expand(recall("entity"));
}

for (const id of ["name", "from", "to"]) byId(id).addEventListener("input", (event) => suggest(event.target.value));
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  run(() => {
    say("");
    return find(byId("name").value);
  });
});
byId("connect").addEventListener("submit", (event) => {
  event.preventDefault();
  run(() => {
    say("");
    return connect(byId("from").value, byId("to").value);
  });
});
byId("fit").addEventListener("click", () => graph.fit());
byId("clear").addEventListener("click", () => {
  clear();
  remember({ entity: "", from: "", to: "" });
});
begin(open);
