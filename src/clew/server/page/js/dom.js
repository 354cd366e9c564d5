/** Elements made of text only: nothing that comes from an index is ever parsed as HTML. */

/** Return an element; functions become listeners, `true` an empty attribute, and null or false leave one out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Replace what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Return a count and its noun, in the singular for one: `1 passage`, `2 passages`. */
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Say something in the line under the form; `bad` marks an error. */
export function say(text, bad = false) {
  const line = byId("message");
  line.textContent = text;
  line.classList.toggle("bad", bad);
}

/** Show a dialog with a title and something in it; it closes by its button, Escape, or when `close` is called. */
export function showDialog(title, ...children) {
  const close = make("button", { type: "button", click: () => dialog.close() }, "Close");
  const heading = make("h2", { id: "dialog-title" }, title);
  const head = make("div", { class: "dialog-head" }, heading, close);
  const dialog = make("dialog", { "aria-labelledby": "dialog-title", close: () => dialog.remove() }, head, ...children);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Return a function that runs `work` once calls have stopped for some milliseconds. */
export function afterPause(milliseconds, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
