"""The commands that this package adds to Clew, as its entry points of the group `clew.commands` name them."""

from clew.commands.lazy import CommandEntry

_HERE = "clew_lab.commands"

COMPARE = CommandEntry(
    f"{_HERE}.compare:compare",
    "Compare ways of selecting subgraphs: the same questions, reader and budget; accuracy, gold, tokens, time.",
)
DIFF = CommandEntry(
    f"{_HERE}.diff:diff",
    "Compare the passages, entities and triples of two indexes; exit 0 for equal, 1 for different.",
)
EXPORT = CommandEntry(
    f"{_HERE}.export:export",
    "Write what extractors found, to be read again by `clew index --extractor published:FILE`.",
)
EXTRACT = CommandEntry(
    f"{_HERE}.extract:extract",
    "Show the names, marked in the text, and the facts that an extractor finds in a file.",
)
EXPLAIN = CommandEntry(
    f"{_HERE}.explain:explain",
    "Explain why gfm ranks an entity or passage where it does: the walks to it, with the weight of each edge.",
)
CORPUS = CommandEntry(
    f"{_HERE}.convert:corpus",
    "Print the passages of a benchmark as JSON lines for `clew index -`; their ids fit its questions.",
)
QUESTIONS_CONVERT = CommandEntry(
    f"{_HERE}.convert:questions",
    "Print the questions of a benchmark as JSON lines for `clew eval --questions`.",
)
QUESTIONS_SAMPLE = CommandEntry(
    f"{_HERE}.questions:sample",
    "Print as many questions of each number of hops, as JSON lines for --questions; after FRAG's KG-1000.",
)
QUESTIONS_STATS = CommandEntry(
    f"{_HERE}.questions:stats",
    "Print the numbers of hops and of answers of question sets.",
)
TRAIN_GFM = CommandEntry(
    f"{_HERE}.train_gfm:gfm",
    "Train the graph neural network of gfm and gfm-paper, on several GPUs where torchrun starts it.",
)
TRAIN_ROUTED = CommandEntry(
    f"{_HERE}.train_routing:routing",
    "Train the choice of the retriever routed; every choice answers every question, and is timed.",
)
TRAIN_HOPS = CommandEntry(
    f"{_HERE}.train_frag:router",
    "Train the hop predictor of frag on questions; use it by --retriever frag:router_weights=FOLDER.",
)
TRAIN_PATHS = CommandEntry(
    f"{_HERE}.train_frag:paths",
    "Train the path ranking of frag; use it by --retriever frag:path_weights=FOLDER.",
)
TRAIN_SUBGRAPH = CommandEntry(
    f"{_HERE}.train_subgraph:subgraph",
    "Train the selection of subgraphs by a reader's answers, for --retriever gcn-subgraph:weights=FOLDER.",
)
TRAIN_RERANKER = CommandEntry(
    f"{_HERE}.train_reranker:reranker",
    "Train the reranker g-rag, for --rerank g-rag:FOLDER.",
)
WEIGHTS_IMPORT = CommandEntry(
    f"{_HERE}.train_gfm:import_weights",
    "Read a checkpoint of GFM-RAG or G-reasoner; nothing in it is executed, and all tensors must fit.",
)
EVAL_GRAPH = CommandEntry(
    f"{_HERE}.evaluate_graph:evaluate_graph",
    "Evaluate retrievers of paths on questions on a graph, with topics and answers.",
)
ASK_GRAPH = CommandEntry(
    f"{_HERE}.ask_graph:ask_graph",
    "Answer a question by a causal language model that reads a selected subgraph.",
)
CANDIDATES_SEARCH = CommandEntry(
    f"{_HERE}.candidates:search",
    "Rerank the passages found for a question of a file of DPR or FiD.",
)
CANDIDATES_EVAL = CommandEntry(
    f"{_HERE}.candidates:evaluate",
    "Evaluate rerankers on the pools of a file of DPR or FiD.",
)
CANDIDATES_EXPLAIN = CommandEntry(
    f"{_HERE}.candidates:explain",
    "Explain why g-rag ranks a passage of a pool of such a file, or of an index, where it does.",
)
ENTITIES_IMPORT = CommandEntry(
    f"{_HERE}.entities:import_log",
    "Read decisions that clew entities list --log --json printed.",
)
