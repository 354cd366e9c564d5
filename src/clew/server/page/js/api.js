/** The server's interface: requests with the key, problems as sentences, and events of an answer. */

const KEY = "clew-key";
let askForKey = async () => null;

/** An error of the server (RFC 9457), or that it cannot be reached. */
export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Set what asks a person for a key; it returns the key, or null. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

/** Return the path of a route of an index; names may hold any character. */
export const route = (index, ...parts) => ["/v1", index, ...parts].map((p, i) => (i ? encodeURIComponent(p) : p)).join("/");

async function send(path, options) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let reply;
  try {
    reply = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server cannot be reached. Is it still running?");
  }
  if (reply.ok) return reply;
  if (reply.status === 401) {
    const given = await askForKey(Boolean(key));
    if (given) {
      sessionStorage.setItem(KEY, given);
      return send(path, options);
    }
  }
  const problem = await reply.json().catch(() => ({}));
  const wait = reply.headers.get("Retry-After");
  const text = problem.detail || problem.title || `The server answered ${reply.status}.`;
  throw new Problem(reply.status, reply.status === 429 && wait ? `${text} Try again in ${wait} s.` : text);
}

/** Return the JSON that a route answers; `body` is sent as JSON, or as it is if it is a form. */
export async function request(path, { method = "GET", body = null, signal = null } = {}) {
  const form = body instanceof FormData;
  const headers = body && !form ? { "Content-Type": "application/json" } : {};
  const reply = await send(path, { method, signal, headers, body: body && !form ? JSON.stringify(body) : body });
  return reply.json();
}

/** Yield the events of a route as `[name, data]`. */
export async function* events(path, body, signal) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const reply = await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (name) yield [name, JSON.parse(data.join("\n"))];
    }
  }
}
