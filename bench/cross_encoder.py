"""What a cross-encoder that reads each passage alone makes of a pool: `python bench/cross_encoder.py`.

No published cross-encoder lies on the machine, so one is taught here: the bundled encoder with a score above it, read
question and passage together, on the same training questions as g-rag, a passage of the evidence against others of the
pool of `fused` (binary cross-entropy). Then it reranks the first passages of each set, beside g-rag, in one run.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.datasets.relevance import match_gold
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.models.encoders.registry import default_weights
from clew.rerankers.text_scorer import text_with_title
from clew.retrievers.registry import open_retriever
from clew.training.data.corpora import open_corpus_index
from reranking import LEARNED, RUN, SETS, progress
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

TOKENS = 128
NEGATIVES = 3  # a passage of the evidence, drawn from the first of the pool
DRAWN_FROM = 50
BATCH = 16
POOL = 50


def main() -> None:
    """Teach the cross-encoder where that is not done, and print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100, help="of each set, spread evenly")
    parser.add_argument("--pairs", type=int, default=3200, help="that it learns from")
    arguments = parser.parse_args()
    print(machine(), flush=True)
    folder = taught(arguments.pairs)
    called = {
        f"fused:rerank=g-rag,pool={POOL}": "g-rag",
        f"fused:rerank=cross-encoder:{folder},pool={POOL}": "cross-encoder",
        "fused": "as found",
    }
    for name in SETS:
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
        questions = some(DATA / benchmark.questions, arguments.questions)
        evaluated = evaluate_retrievers(
            index, questions, list(called), (2, 5, 10), None, None, progress, positives=True
        )
        report = evaluated.to_json()
        print(f"\n{name}: {report['questions']} questions, the first {POOL} of fused reranked; in %")
        rows = []
        for spec, label in called.items():
            figures = report["retrievers"][spec]
            cells = [f"{100 * figures[m]:.1f}" for m in ("recall@2", "recall@5", "all_gold@5", "positives_rr")]
            rows.append([label, *cells, f"{1000 * figures['seconds_p50']:.0f}"])
        print_table(("reranked by", "recall@2", "recall@5", "all_gold@5", "positives_rr", "ms p50"), rows)
        for c in report["comparisons"]:
            if c["measure"] in ("recall@2", "recall@5", "all_gold@5"):
                interval = f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p']:.4f}"
                print(
                    f"g-rag - {called[c['b']]}, {c['measure']}: {100 * c['difference']:+.1f} ({interval})", flush=True
                )


def taught(most: int) -> Path:
    """Return the folder of the taught cross-encoder."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = RUN / "cross-encoder"
    if (folder / "config.json").is_file():
        return folder
    start = str(default_weights())
    tokenizer: Any = AutoTokenizer.from_pretrained(start)
    model: Any = AutoModelForSequenceClassification.from_pretrained(start, num_labels=1)
    pairs, labels = examples()
    order = np.random.default_rng(0).permutation(len(pairs))[:most].tolist()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01)
    model.train()
    steps, losses = len(order) // BATCH, []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 5e-5 * min(1.0, (step + 1) / 20) * (1 - step / steps)
        chosen = order[step * BATCH : (step + 1) * BATCH]
        read = tokenizer(
            [pairs[i][0] for i in chosen],
            [pairs[i][1] for i in chosen],
            truncation="only_second",
            max_length=TOKENS,
            padding=True,
            return_tensors="pt",
        )
        wanted = torch.tensor([labels[i] for i in chosen])
        loss: Any = torch.nn.functional.binary_cross_entropy_with_logits(model(**read).logits[:, 0], wanted)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if not step % 20:
            print(f"step {step} of {steps}: {np.mean(losses[-50:]):.3f}", file=sys.stderr, flush=True)
    print(f"cross-encoder: {len(losses) * BATCH} pairs read, loss {np.mean(losses[-50:]):.3f}", flush=True)
    model.save_pretrained(folder)
    tokenizer.model_max_length = TOKENS
    tokenizer.save_pretrained(folder)
    return folder


def examples() -> tuple[list[tuple[str, str]], list[float]]:
    """Return question and passage of the evidence, and of other passages that were found, with 1 and 0."""
    pairs: list[tuple[str, str]] = []
    labels: list[float] = []
    random = np.random.default_rng(0)
    for name in LEARNED:
        parts = open_corpus_index(DATA / name, RUN, progress)
        retriever = open_retriever("fused", parts.with_paths_per_passage(0))
        questions = load_questions(DATA / name / "train.jsonl")
        found = retriever.retrieve([question.text for question in questions], DRAWN_FROM)
        for question, evidence in zip(questions, found, strict=True):
            passages = [scored.item for scored in evidence.passages]
            hits = match_gold([p.id for p in passages], [p.document_id for p in passages], question.gold).hits
            good = [place for place, hit in enumerate(hits) if hit >= 0]
            bad = [place for place, hit in enumerate(hits) if hit < 0]
            drawn = random.choice(bad, size=min(len(bad), NEGATIVES * len(good)), replace=False).tolist()
            pairs += [(question.text, text_with_title(passages[place])) for place in (*good, *drawn)]
            labels += [1.0] * len(good) + [0.0] * len(drawn)
    return pairs, labels


def some(path: Path, most: int) -> Path:
    """Return a file with so many of a file's questions, spread evenly."""
    lines = path.read_text(encoding="utf-8").splitlines()
    made = RUN / "limited" / f"{path.parent.name}-{path.stem}-{most}.jsonl"
    made.parent.mkdir(parents=True, exist_ok=True)
    count = min(most, len(lines))
    made.write_text("\n".join(lines[i * len(lines) // count] for i in range(count)) + "\n", encoding="utf-8")
    return made


if __name__ == "__main__":
    main()
