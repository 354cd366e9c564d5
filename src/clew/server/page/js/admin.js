/** The view for those who may write: what each index holds, how it was made, and what was uploaded last. */

import { request, route } from "./api.js";
import { byId, count, fill, make, say } from "./dom.js";
import { begin } from "./shell.js";

const COUNTS = ["documents", "passages", "entities", "relations", "triples"];

async function card(index) {
  const [stats, { jobs }] = await Promise.all([request(route(index.name, "stats")), request(route(index.name, "jobs"))]);
  const rows = [
    ...COUNTS.map((name) => [name, stats[name].toLocaleString("en")]),
    ["version", String(stats.version)],
    ...Object.entries(stats.settings).map(([name, value]) => [name.replaceAll("_", " "), String(value)]),
  ];
  const failed = jobs.filter((job) => job.status === "failed").length;
  const uploads = jobs.length ? `${count(jobs.length, "upload")}, ${failed} failed` : "no uploads";
  return make(
    "section",
    { class: "card", "aria-label": index.name },
    make("h2", {}, index.name),
    make("dl", {}, rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    make("a", { href: `/documents?index=${encodeURIComponent(index.name)}` }, uploads),
  );
}

begin(async (_, listed) => {
  const writable = listed.indexes.filter((index) => index.writable);
  if (!writable.length) {
    say("This view needs a key that may write.", true);
    return;
  }
  fill(byId("indexes"), await Promise.all(writable.map(card)));
});
