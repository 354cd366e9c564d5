"""The retrievers that this package adds to Clew, as its entry points of the group `clew.retrievers` name them."""

from clew.retrievers.spec import RetrieverEntry

_HERE = "clew_lab.retrievers"
_VECTORS = "passages, vectors"
_FACTS = "facts (triples); vectors, or without them words"

ENTITY_GRAPH = RetrieverEntry(
    "a walk over shared names only: no relations, no links between titles",
    f"{_HERE}.entity_graph:EntityGraph",
    f"{_HERE}.entity_graph:build_entity_graph",
)
GNN_RAG = RetrieverEntry(
    "shortest paths to the entities that a graph network thinks likeliest, after GNN-RAG",
    f"{_HERE}.gnn_rag:GNNRAG",
    f"{_HERE}.gnn_rag:build_gnn_rag",
    "facts (triples), vectors",
    finds_paths=True,
)
HIPPORAG = RetrieverEntry(
    "a walk over names from those in the question, along facts and synonyms, after HippoRAG",
    f"{_HERE}.hipporag:HippoRAG",
    f"{_HERE}.hipporag:build_hipporag",
    _VECTORS,
)
HIPPORAG2 = RetrieverEntry(
    "HippoRAG 2's ranking, without its language model or with it",
    f"{_HERE}.hipporag2:HippoRAG2",
    f"{_HERE}.hipporag2:build_hipporag2",
    _VECTORS,
)
IRCOT = RetrieverEntry(
    "an agent: one thought after the other, each the next query, after IRCoT",
    f"{_HERE}.ircot:IRCoT",
    f"{_HERE}.ircot:build_ircot",
    _VECTORS,
    combines=True,
    over_base=True,
)
LINEARRAG = RetrieverEntry(
    "a walk over passages and entities, from the entities that its sentences activate, after LinearRAG",
    f"{_HERE}.linearrag:LinearRAG",
    f"{_HERE}.linearrag:build_linearrag",
    "passages, vectors, vectors of sentences",
)
MAXSIM = RetrieverEntry(
    "the first passages of another retriever, or all, by late interaction of tokens, after ColBERT",
    f"{_HERE}.maxsim:MaxSim",
    f"{_HERE}.maxsim:build_maxsim",
    "passages, vectors of an encoder that gives those of tokens",
    combines=True,
    over_base=True,
)
NAIVE_GE = RetrieverEntry(
    "a base ranking, expanded along chains of all its triples, after GeAR",
    f"{_HERE}.graph_expansion:NaiveGE",
    f"{_HERE}.graph_expansion:build_naive_ge",
    _VECTORS,
    combines=True,
    over_base=True,
)
NONE = RetrieverEntry(
    "nothing: a language model answers from what it knows (`ask` and `eval --answer` with `--model`)",
    f"{_HERE}.no_retrieval:NoRetrieval",
    f"{_HERE}.no_retrieval:build_no_retrieval",
    "nothing",
    over_base=True,
    finds_paths=True,
    finds_nothing=True,
)
ROG = RetrieverEntry(
    "all paths that follow the relation paths planned for the question, after RoG",
    f"{_HERE}.rog:RoG",
    f"{_HERE}.rog:build_rog",
    _FACTS,
    finds_paths=True,
)
ROUTED = RetrieverEntry(
    "for each question the retriever that is worth its time",
    f"{_HERE}.routed.retriever:Routed",
    f"{_HERE}.routed.retriever:build_routed",
    "passages; vectors for some of its choices",
    combines=True,
    explains_passages=True,
)
SPRIG = RetrieverEntry(
    "a walk over passages and entities, from names and the first passages of `fused`, after SPRIG",
    f"{_HERE}.sprig:Sprig",
    f"{_HERE}.sprig:build_sprig",
    "passages; vectors unless its seeds do without",
    combines=True,
)
STEINER = RetrieverEntry(
    "a tree that collects the entities and relations most similar to the question, after G-Retriever",
    f"{_HERE}.selectors:Steiner",
    f"{_HERE}.selectors:build_steiner",
    "facts (triples), vectors",
    finds_paths=True,
)
SYNC_GE = RetrieverEntry(
    "`naive-ge` from the triples that a reader picks",
    f"{_HERE}.graph_expansion:SyncGE",
    f"{_HERE}.graph_expansion:build_sync_ge",
    _VECTORS,
    combines=True,
    over_base=True,
)
TITLE_LINKS = RetrieverEntry(
    "`fused`, then the passages that its first ones name",
    f"{_HERE}.title_links:TitleLinks",
    f"{_HERE}.title_links:build_title_links",
    _VECTORS,
    combines=True,
)
TOG = RetrieverEntry(
    "a beam of paths, whose relations and entities a ranker or a language model picks, after ToG",
    f"{_HERE}.tog:ToG",
    f"{_HERE}.tog:build_tog",
    _FACTS,
    finds_paths=True,
)
FRAG_COMPLEX = RetrieverEntry(
    "`frag` with every question treated as complex",
    "clew.retrievers.frag.settings:Frag",
    "clew.retrievers.frag.settings:build_frag",
    _FACTS,
    {"complexity": "complex"},
    finds_paths=True,
)
FRAG_SIMPLE = RetrieverEntry(
    "`frag` with every question treated as simple",
    "clew.retrievers.frag.settings:Frag",
    "clew.retrievers.frag.settings:build_frag",
    _FACTS,
    {"complexity": "simple"},
    finds_paths=True,
)
GFM_PAPER = RetrieverEntry(
    "the published GFM-RAG and G-reasoner: networks that score entities or documents, with their ranking of passages",
    "clew_lab.gfm.published_retriever:GFMPaper",
    "clew_lab.gfm.published_retriever:build_gfm_paper",
    "passages; weights from `clew train gfm --preset paper` or `clew weights import`",
    explains_passages=True,
)
