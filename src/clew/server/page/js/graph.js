/** The graph as a picture (Cytoscape.js) and as a nested list; both show the same nodes and edges. */

import cytoscape from "/page/vendor/cytoscape.esm.min.mjs";

const SPREAD = 130;
const MANY = 400; // nodes, from which labels of edges are left out and new nodes are placed without a layout

const LAYOUT = {
  name: "cose", animate: false, randomize: false, padding: 40, nodeDimensionsIncludeLabels: true,
  nodeRepulsion: () => 400000, idealEdgeLength: () => 120, edgeElasticity: () => 60, nodeOverlap: 30, gravity: 0.4,
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function style() {
  const [ink, soft, node, accent, panel] = ["--ink", "--soft", "--node", "--accent", "--panel"].map(colour);
  return [
    {
      selector: "node",
      style: {
        "background-color": node, "border-color": accent, "border-width": 1, color: ink, label: "data(name)",
        "font-size": 12, "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "ellipsis", "text-max-width": 140,
        width: 18, height: 18, "min-zoomed-font-size": 8,
        "text-background-color": panel, "text-background-opacity": 0.85, "text-background-padding": 2,
      },
    },
    { selector: "node:selected", style: { "background-color": accent, "border-width": 3 } },
    {
      selector: "edge",
      style: {
        width: 1.2, "line-color": soft, "target-arrow-color": soft, "target-arrow-shape": "triangle", "curve-style": "bezier",
        "arrow-scale": 0.8, label: "data(relation)", "font-size": 10, color: soft, "text-rotation": "autorotate",
        "text-background-color": panel, "text-background-opacity": 0.85, "min-zoomed-font-size": 9,
      },
    },
    { selector: "edge:selected", style: { "line-color": accent, "target-arrow-color": accent, width: 3 } },
    { selector: "edge.quiet", style: { label: "", "curve-style": "haystack", "target-arrow-shape": "none" } },
  ];
}

/** A graph that grows by what is expanded. */
export class Graph {
  /** `onNode(id)` and `onEdge(edge)` are called for what a person picks. */
  constructor(container, onNode, onEdge) {
    this.core = cytoscape({
      container, style: style(), textureOnViewport: true, hideEdgesOnViewport: true, pixelRatio: 1,
    });
    this.core.on("tap", "node", (event) => onNode(event.target.id()));
    this.core.on("tap", "edge", (event) => onEdge(event.target.data("edge")));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.core.style(style()));
  }

  get nodes() {
    return this.core.nodes().map((node) => ({ id: node.id(), name: node.data("name") }));
  }

  get size() {
    return this.core.nodes().length;
  }

  has(id) {
    return this.core.getElementById(id).nonempty();
  }

  /** Return the edges of a node that are drawn. */
  edgesOf(id) {
    return this.core.getElementById(id).connectedEdges().map((edge) => edge.data("edge"));
  }

  /** Draw entities `{id, name}` and edges `{head_id, tail_id, relation, ...}`; new nodes stand around `centre`. */
  add(entities, edges, centre = "") {
    const known = this.core.getElementById(centre);
    const at = known.nonempty() ? known.position() : { x: 0, y: 0 };
    const fresh = entities.filter((entity) => !this.has(entity.id));
    const ring = Math.max(SPREAD, (fresh.length * 26) / (2 * Math.PI));
    const placed = fresh.map((entity, number) => {
      const angle = (2 * Math.PI * number) / Math.max(1, fresh.length) + (known.nonempty() ? 0.4 : 0);
      const radius = fresh.length === 1 && known.empty() ? 0 : ring * (1 + 0.25 * (number % 3));
      const position = { x: at.x + radius * Math.cos(angle), y: at.y + radius * Math.sin(angle) };
      return { group: "nodes", data: { id: entity.id, name: entity.name }, position };
    });
    this.core.batch(() => {
      this.core.add(placed);
      const joined = edges.filter((edge) => this.has(edge.head_id) && this.has(edge.tail_id));
      const drawn = joined.map((edge) => ({
        group: "edges",
        data: {
          id: JSON.stringify([edge.head_id, edge.relation, edge.tail_id]), source: edge.head_id, target: edge.tail_id,
          relation: edge.relation, edge,
        },
      }));
      this.core.add(drawn.filter(({ data }) => !this.has(data.id)));
      this.core.edges().toggleClass("quiet", this.size > MANY);
    });
    if (this.size <= MANY && placed.length) {
      this.core.layout({ ...LAYOUT, numIter: this.size > 100 ? 300 : 1000 }).run();
    } else {
      this.fit();
    }
  }

  hide(id) {
    const node = this.core.getElementById(id);
    const alone = node.neighborhood("node").filter((other) => other.neighborhood("node").length === 1);
    this.core.remove(alone.union(node));
  }

  select(id) {
    this.core.elements().unselect();
    this.core.getElementById(id).select();
  }

  fit() {
    this.core.fit(undefined, 30);
  }

  clear() {
    this.core.elements().remove();
  }
}
