/** Decisions on an entity: merge, rename, split off, forget, and the list of all decisions with their undoing. */

import { request, route } from "./api.js";
import { make, say, showDialog } from "./dom.js";

const decide = (index, change) => request(route(index, "entity-decisions"), { method: "POST", body: change });

/** Return buttons that change an entity; `done` is called with the name that it has then, "" for none, and a sentence. */
export function correctionButtons(index, entity, done) {
  const names = [entity.name];
  const button = (label, work) => make("button", { type: "button", click: work }, label);
  const ask = (title, fields, change) => askFor(title, fields, async (values) => finish(await decide(index, change(values)), done));
  return make(
    "div",
    { class: "buttons", role: "group", "aria-label": "Correct this entity" },
    button("Merge", () =>
      ask(`Merge ${entity.name}`, [["other", "With the entity", ""], ["into", "As", entity.name]], (values) => ({
        action: "merge",
        names: [entity.name, values.other],
        new_name: values.into,
      })),
    ),
    button("Rename", () =>
      ask(`Rename ${entity.name}`, [["to", "New name", entity.name]], (values) => ({ action: "rename", names, new_name: values.to })),
    ),
    button("Split", () =>
      ask(`Split ${entity.name}`, [["document", "Mentions in the document", ""], ["as", "Are another entity", ""]], (values) => ({
        action: "split",
        names,
        new_name: values.as,
        documents: [values.document],
      })),
    ),
    button("Forget", () => ask(`Forget ${entity.name}: its mentions link nothing any more`, [], () => ({ action: "forget", names }))),
    button("Decisions", () => showDecisions(index, done).catch((error) => say(error.message, true))),
  );
}

/** Ask for some texts, `[id, label, value]` each; the dialog stays open, and says why, where `work` fails. */
function askFor(title, fields, work) {
  const inputs = fields.map(([id, label, value]) => [id, label, make("input", { id: `correct-${id}`, value, required: true, autocomplete: "off" })]);
  const problem = make("p", { class: "message", role: "status" });
  const send = make("button", { class: "main-action" }, "Do it");
  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      await work(Object.fromEntries(inputs.map(([id, , input]) => [id, input.value])));
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      problem.classList.add("bad");
      send.disabled = false;
    }
  };
  const labels = inputs.map(([, label, input]) => make("label", { class: "wide" }, `${label} `, input));
  const dialog = showDialog(title, make("form", { class: "fields", submit }, labels, send), problem);
  (inputs.length ? inputs[0][2] : send).focus();
}

/** Show all decisions of an index, each with a button that undoes it. */
async function showDecisions(index, done) {
  const listed = await request(route(index, "entity-decisions"));
  const problem = make("p", { class: "message", role: "status" });
  const undo = async (decision) => {
    try {
      const made = await decide(index, { action: "undo", number: decision.number });
      dialog.close();
      await finish(made, done);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const items = listed.decisions.map((decision) =>
    make(
      "li",
      {},
      `${decision.number}: ${decision.description}${decision.note ? ` (${decision.note})` : ""} `,
      decision.undone ? null : make("button", { type: "button", "aria-label": `Undo decision ${decision.number}`, click: () => undo(decision) }, "Undo"),
    ),
  );
  const dialog = showDialog("Decisions on entities", items.length ? make("ul", {}, items) : make("p", {}, "Nothing was decided."), problem);
}

/** Go on after decisions: with the entity of the last one that has a name. */
async function finish(made, done) {
  const last = made.decisions[made.decisions.length - 1];
  const note = last.note ? ` (${last.note})` : "";
  await done(last.name, `Decision ${last.number}: ${last.description}${note}`);
}
