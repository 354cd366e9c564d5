/** What all views share: the choice of the index, the key, the mark of the view, and a line for an empty index. */

import { onKeyNeeded, request, route } from "./api.js";
import { byId, fill, make, say, showDialog } from "./dom.js";

const CHOSEN = "clew-index";
const parameters = new URLSearchParams(location.search);
let setOpened;
const opened = new Promise((resolve) => (setOpened = resolve)); // the first index is chosen and shown

onKeyNeeded(
  (refused) =>
    new Promise((resolve) => {
      const key = make("input", { type: "password", id: "key", autocomplete: "off", required: true });
      const form = make(
        "form",
        {
          class: "fields",
          submit: (event) => {
            event.preventDefault();
            resolve(key.value.trim());
            dialog.close();
          },
        },
        make("label", { class: "wide" }, "Key ", key),
        make("button", { class: "main-action" }, "Use it"),
      );
      const why = refused ? "The server does not know this key." : "This server asks for a key. Its keeper has one for you.";
      const dialog = showDialog("A key, please", make("p", {}, `${why} It is kept until you close this tab.`), form);
      dialog.addEventListener("close", () => resolve(null));
      key.focus();
    }),
);

/** Set a parameter of the page's address, so that it can be shared. */
export function remember(values) {
  for (const [name, value] of Object.entries(values)) value ? parameters.set(name, value) : parameters.delete(name);
  history.replaceState(null, "", `${location.pathname}?${parameters}`);
}

/** Return a parameter of the page's address. */
export const recall = (name) => parameters.get(name) || "";

/** Run what a person wants once an index is open, and say why it failed if it does. */
export async function run(work) {
  await opened;
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

/** Return the sentence that says what to do with an index that holds nothing. */
export async function tellIfEmpty(index, writable) {
  const stats = await request(route(index, "stats"));
  if (stats.documents) return false;
  if (stats.filtered) say("Your key sees no document of this index.");
  else if (writable) fill(byId("message"), "This index is empty. ", make("a", { href: "/documents" }, "Add documents"), " to begin.");
  else say("This index is empty. Add documents with clew index FOLDER, or start the server so that it may write.");
  return true;
}

/** Fill the bar, and call `show` with the index now and whenever another is chosen. */
export async function begin(show) {
  for (const link of document.querySelectorAll(".bar nav a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
  }
  const choice = byId("index");
  let listed;
  try {
    listed = await request("/v1/indexes");
  } catch (error) {
    say(error.message, true);
    return;
  }
  if (!listed.indexes.length) {
    say("This key may ask no index.", true);
    return;
  }
  byId("admin-link").hidden = !listed.indexes.some((index) => index.writable);
  fill(choice, listed.indexes.map((index) => make("option", {}, index.name)));
  const wanted = recall("index") || localStorage.getItem(CHOSEN);
  if (listed.indexes.some((index) => index.name === wanted)) choice.value = wanted;
  const tell = async () => {
    localStorage.setItem(CHOSEN, choice.value);
    remember({ index: choice.value });
    say("");
    try {
      await show(listed.indexes.find((index) => index.name === choice.value), listed);
    } catch (error) {
      say(error.message, true);
    }
  };
  choice.addEventListener("change", tell);
  await tell();
  setOpened();
}
