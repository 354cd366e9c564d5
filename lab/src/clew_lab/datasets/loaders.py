"""Loaders of questions and corpora of common multi-hop data sets; the layout is detected from the content.

    layout           questions                                        corpus
    Clew             JSONL {id, question, answers, gold}              JSONL {id, title, text}
    HotpotQA, 2Wiki  {_id, question, answer, supporting_facts, context: [[title, [sentence]]]}, passages pooled
    MuSiQue          {id, question, answer, paragraphs: [{title, paragraph_text, is_supporting}]}, passages pooled
    HippoRAG         X.json in either form above                      X_corpus.json [{title, text}]
    gfmrag           train.json, test.json (see `gfm_rag`)             documents.json {title: text}
    DPR, FiD         {question, answers, ctxs: [{id, title, text, has_answer}]} (see `candidates`), passages united
    WebQSP, CWQ      their own files, RoG's records, FRAG's lines (see `published_kgqa`), without passages
    BEIR             folder: queries.jsonl, qrels/SPLIT.tsv           corpus.jsonl {_id, title, text}

Any file may be a JSON list or JSONL. Gold ids are document ids. For data sets whose passages have no id, `PassagePool`
makes one, the same for the questions and for the corpus.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from clew.datasets.questions import Record, check_unique, hop_count, make_question, preview, question_type, read_records
from clew.errors import InputError
from clew.types import Document, Question
from clew_lab.datasets import beir, candidates, gfm_rag, published_kgqa
from clew_lab.datasets.passage_pool import PassagePool, join_sentences

CANDIDATES = "candidates"
"""The layout of files of candidates."""

_LAYOUTS = (
    "{id, question, answers, gold} (Clew), {_id, question, answer, supporting_facts, context} (HotpotQA, 2Wiki), "
    "{id, question, answer, paragraphs} (MuSiQue), "
    "{id, question, answer, supporting_documents} (gfmrag), {question, answers, ctxs} (DPR, FiD), "
    "{title, text} (HippoRAG corpus), "
    "{id, question, answer, q_entity, graph} (RoG), {ID, question, answers, sparql} (CWQ), "
    "{id, title, text} (Clew corpus) or a BEIR folder"
)


def load_questions(path: str | Path) -> list[Question]:
    """Load the questions of a data set, in the order of the file.

    `path` is a file of questions, a folder with `questions.jsonl`, a BEIR folder, or a file of a BEIR folder's `qrels`,
    which selects the split (a folder with several splits must have `test`). Raises InputError with file and line if the
    file cannot be read, its layout is unknown, a key is missing or has the wrong type, or an id repeats.
    """
    source = Path(path)
    if beir.is_beir_path(source):
        return check_unique(beir.read_questions(source))
    if source.is_dir():
        source = _find_in_folder(source, "questions.jsonl")
    if published_kgqa.is_webqsp(source):
        return check_unique(published_kgqa.read_webqsp(source))
    records, layout = _detect_layout(source)
    if layout in ("own graph", "cwq"):
        return check_unique((record.location, published_kgqa.make_question(record, layout)) for record in records)
    if layout == CANDIDATES:
        return [pool.question for pool in candidates.load_candidates(source)]
    if layout == "titles":
        return check_unique((record.location, gfm_rag.make_question(record)) for record in records)
    if layout == "questions":
        return check_unique((record.location, make_question(record)) for record in records)
    if layout not in _PASSAGE_READERS:
        raise InputError(f"{source}: holds a corpus; give the file of questions that goes with it")
    loaded = list(records)
    pool = _build_pool(source, loaded, _PASSAGE_READERS[layout])
    make = _paragraph_question if layout == "paragraphs" else _context_question
    return check_unique((record.location, make(record, pool)) for record in loaded)


def load_corpus(path: str | Path) -> Iterator[Document]:
    """Yield the documents of a data set, in the order of the file, each id once.

    `path` is a corpus, a folder with `corpus.jsonl`, a BEIR folder, or a file of questions that include their passages
    (if `X_corpus.json` exists beside `X.json`, that is the corpus). Raises InputError as `load_questions`; an unusable
    file is refused at the call, a bad record when it is reached.
    """
    source = Path(path)
    if beir.is_beir_path(source):
        source = beir.beir_folder(source) / "corpus.jsonl"
    elif source.is_dir():
        own = next((source / name for name in gfm_rag.DOCUMENT_FILES if (source / name).is_file()), None)
        source = own or _find_in_folder(source, "corpus.jsonl")
    if gfm_rag.is_documents_file(source):
        return gfm_rag.read_documents(source)
    records, layout = _detect_layout(source)
    if layout == "corpus":
        return _read_documents(records)
    if layout == "untitled corpus":
        return _build_pool(source, records, _corpus_passages).documents()
    if layout == CANDIDATES:
        return candidates.candidate_documents(candidates.load_candidates(source))
    if layout in _PASSAGE_READERS:
        return _build_pool(source, records, _PASSAGE_READERS[layout]).documents()
    raise InputError(f"{source}: holds questions without passages; give the corpus that goes with them")


def _find_in_folder(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise InputError(
            f"{folder}: has no {name} and is not a BEIR folder (queries.jsonl, corpus.jsonl, qrels/); give a file"
        )
    return folder / name


def _detect_layout(path: Path) -> tuple[Iterator[Record], str]:
    """Return the records and their layout, detected from the keys of the first record."""
    records = read_records(path)
    first = next(records)
    keys = first.fields.keys()
    layout = published_kgqa.layout_of(first)
    if layout:
        return chain([first], records), layout
    if "question" in keys and candidates.CONTEXTS in keys:
        layout = CANDIDATES
    elif "question" in keys:
        layouts = {"gold": "questions", "paragraphs": "paragraphs", "context": "context", "answers": "questions"}
        layout = next((name for key, name in layouts.items() if key in keys), "")
        if layout in ("", "questions") and gfm_rag.is_question(first):
            layout = "titles"
    elif "text" in keys:
        layout = "corpus" if "id" in keys or "_id" in keys else "untitled corpus" if "title" in keys else ""
    if not layout:
        raise InputError(f"{first.location}: the keys are {first.key_names}, an unknown layout; wanted {_LAYOUTS}")
    return chain([first], records), layout


def _read_documents(records: Iterable[Record]) -> Iterator[Document]:
    locations: dict[str, str] = {}
    for record in records:
        identifier = record.identifier("id", "_id")
        if identifier in locations:
            used = locations[identifier]
            raise InputError(
                f"{record.location}: document id {identifier!r} was already used at {used}; give each its own"
            )
        locations[identifier] = record.location
        title = record.text("title") if record.fields.get("title") is not None else ""
        metadata = record.nested_record(record.fields.get("metadata") or {}, "'metadata'").fields
        yield Document(identifier, title, record.text("text"), metadata)


def _paragraph_question(record: Record, pool: PassagePool) -> Question:
    gold = [pool.passage_id(*passage) for passage, supporting in _paragraphs(record) if supporting]
    steps = record.fields.get("question_decomposition")
    hops = len(steps) if isinstance(steps, list) else hop_count(record)
    return _pooled_question(record, record.identifier("id", "_id"), gold, hops)


def _context_question(record: Record, pool: PassagePool) -> Question:
    context = list(_context_passages(record))
    gold = []
    for fact in record.items("supporting_facts"):
        if not isinstance(fact, list) or not fact or not isinstance(fact[0], str):
            raise record.error(f"'supporting_facts' holds {preview(fact)}", "a list of [title, number of the sentence]")
        # A fact names its passage by title only; the full Wikipedia setting may lack the passage in the context.
        texts: list[str | None] = [text for title, text in context if title == fact[0]]
        gold += [pool.passage_id(fact[0], text) for text in texts or [None]]
    return _pooled_question(record, record.identifier("_id", "id"), gold, hop_count(record))


def _pooled_question(record: Record, identifier: str, gold: Iterable[str], hops: int) -> Question:
    gold_ids = tuple(dict.fromkeys(gold))
    text = record.text("question")
    return Question(identifier, text, _answers(record), gold_ids, question_type(record), hops)


def _answers(record: Record) -> tuple[str, ...]:
    answer = record.value("answer")
    first = record.texts("answer") if isinstance(answer, list) else (record.text("answer"),)
    aliases = record.texts("answer_aliases") if record.fields.get("answer_aliases") is not None else ()
    return tuple(dict.fromkeys(first + aliases))


def _build_pool(
    path: Path, records: Iterable[Record], passages: Callable[[Record], Iterator[tuple[str, str]]]
) -> PassagePool:
    corpus = path.with_name(f"{path.stem}_corpus.json")
    if corpus.is_file():
        records, layout = _detect_layout(corpus)
        if layout != "untitled corpus":
            raise InputError(f"{corpus}: is not a list of {{title, text}} as {path.name} needs beside it; rename one")
        passages = _corpus_passages
    return PassagePool(passage for record in records for passage in passages(record))


def _corpus_passages(record: Record) -> Iterator[tuple[str, str]]:
    yield record.text("title"), record.text("text")


def _paragraphs(record: Record) -> Iterator[tuple[tuple[str, str], bool]]:
    for number, item in enumerate(record.items("paragraphs")):
        paragraph = record.nested_record(item, f"paragraph {number}")
        supporting = paragraph.value("is_supporting")
        if not isinstance(supporting, bool):
            raise paragraph.error(f"'is_supporting' is {preview(supporting)}", "true or false")
        yield (paragraph.text("title"), paragraph.text("paragraph_text", "text")), supporting


def _paragraph_passages(record: Record) -> Iterator[tuple[str, str]]:
    for passage, _ in _paragraphs(record):
        yield passage


def _context_passages(record: Record) -> Iterator[tuple[str, str]]:
    for item in record.items("context"):
        match item:
            case [str(title), list(sentences)] if all(isinstance(sentence, str) for sentence in sentences):
                yield title, join_sentences(sentences)
            case _:
                raise record.error(f"'context' holds {preview(item)}", "a list of [title, [sentences]]")


_PASSAGE_READERS: dict[str, Callable[[Record], Iterator[tuple[str, str]]]] = {
    "paragraphs": _paragraph_passages,
    "context": _context_passages,
}
