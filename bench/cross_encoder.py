"""Compare g-rag with a cross-encoder, which reads each passage alone: `python bench/cross_encoder.py`.

Since no published cross-encoder is available offline, one is trained here: the bundled encoder with a scoring head,
which reads question and passage together, on the same training questions as g-rag, with evidence passages against
others of the pool of `fused` (binary cross-entropy). Both rerank the first passages of each set in one run.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.evaluation.ranking_metrics import match_gold
from clew.rerankers.text_scorer import text_with_title
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.training.data.corpora import open_corpus_index
from clew_lab.datasets.loaders import load_questions
from clew_lab.evaluation.multi_positive_metrics import score_positives
from reranking import RUN, SETS, TRAINING_SETS, progress
from workbench import BENCHMARKS, DATA, build_index, describe_machine, fp32_folder, print_table

TOKENS = 128
NEGATIVES = 3  # per evidence passage, sampled from the first `SAMPLED_FROM` of the pool
SAMPLED_FROM = 50
BATCH = 16
POOL = 50


def main() -> None:
    """Train the cross-encoder if necessary, and print one table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100, help="number of questions per set, evenly spaced")
    parser.add_argument("--pairs", type=int, default=3200, help="number of training pairs")
    arguments = parser.parse_args()
    print(describe_machine(), flush=True)
    folder = train_cross_encoder(arguments.pairs)
    labels = {
        f"fused:rerank=g-rag,rerank_depth={POOL}": "g-rag",
        f"fused:rerank=cross-encoder:{folder},rerank_depth={POOL}": "cross-encoder",
        "fused": "as found",
    }
    for name in SETS:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = limit_questions(DATA / benchmark.questions, arguments.questions)
        report = evaluate_retrievers(
            index,
            questions,
            {name: parse_retriever(name) for name in labels},
            (2, 5, 10),
            None,
            None,
            progress,
            further=partial(score_positives, ks=(2, 5, 10)),
        ).to_json()
        print(f"\n{name}: {report['questions']} questions, the first {POOL} of fused reranked; in %")
        rows = []
        for spec, label in labels.items():
            figures = report["retrievers"][spec]
            cells = [f"{100 * figures[m]:.1f}" for m in ("recall@2", "recall@5", "all_gold@5", "positives_rr")]
            rows.append([label, *cells, f"{1000 * figures['seconds_p50']:.0f}"])
        print_table(("reranked by", "recall@2", "recall@5", "all_gold@5", "positives_rr", "ms p50"), rows)
        for c in report["comparisons"]:
            if c["measure"] in ("recall@2", "recall@5", "all_gold@5"):
                interval = f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p']:.4f}"
                print(
                    f"g-rag - {labels[c['b']]}, {c['measure']}: {100 * c['difference']:+.1f} ({interval})", flush=True
                )


def train_cross_encoder(max_pairs: int) -> Path:
    """Return the folder of the cross-encoder, trained if necessary."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = RUN / "cross-encoder"
    if (folder / "config.json").is_file():
        return folder
    encoder = str(fp32_folder())
    tokenizer: Any = AutoTokenizer.from_pretrained(encoder)
    model: Any = AutoModelForSequenceClassification.from_pretrained(encoder, num_labels=1)
    pairs, labels = make_pairs()
    order = np.random.default_rng(0).permutation(len(pairs))[:max_pairs].tolist()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01)
    model.train()
    steps, losses = len(order) // BATCH, []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 5e-5 * min(1.0, (step + 1) / 20) * (1 - step / steps)
        chosen = order[step * BATCH : (step + 1) * BATCH]
        tokens = tokenizer(
            [pairs[i][0] for i in chosen],
            [pairs[i][1] for i in chosen],
            truncation="only_second",
            max_length=TOKENS,
            padding=True,
            return_tensors="pt",
        )
        targets = torch.tensor([labels[i] for i in chosen])
        loss: Any = torch.nn.functional.binary_cross_entropy_with_logits(model(**tokens).logits[:, 0], targets)
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


def make_pairs() -> tuple[list[tuple[str, str]], list[float]]:
    """Return pairs of question and passage, with label 1 for evidence and 0 for other retrieved passages."""
    pairs: list[tuple[str, str]] = []
    labels: list[float] = []
    random = np.random.default_rng(0)
    for name in TRAINING_SETS:
        parts = open_corpus_index(DATA / name, RUN, progress)
        retriever = open_retriever("fused", parts.with_paths_per_passage(0))
        questions = load_questions(DATA / name / "train.jsonl")
        results = retriever.retrieve([question.text for question in questions], SAMPLED_FROM)
        for question, evidence in zip(questions, results, strict=True):
            passages = [scored.item for scored in evidence.passages]
            hits = match_gold([p.id for p in passages], [p.document_id for p in passages], question.gold).hits
            positives = [rank for rank, hit in enumerate(hits) if hit >= 0]
            others = [rank for rank, hit in enumerate(hits) if hit < 0]
            count = min(len(others), NEGATIVES * len(positives))
            negatives = random.choice(others, size=count, replace=False).tolist()
            pairs += [(question.text, text_with_title(passages[rank])) for rank in (*positives, *negatives)]
            labels += [1.0] * len(positives) + [0.0] * len(negatives)
    return pairs, labels


def limit_questions(path: Path, limit: int) -> Path:
    """Return a file with at most `limit` of a file's questions, evenly spaced."""
    lines = path.read_text(encoding="utf-8").splitlines()
    limited = RUN / "limited" / f"{path.parent.name}-{path.stem}-{limit}.jsonl"
    limited.parent.mkdir(parents=True, exist_ok=True)
    count = min(limit, len(lines))
    limited.write_text("\n".join(lines[i * len(lines) // count] for i in range(count)) + "\n", encoding="utf-8")
    return limited


if __name__ == "__main__":
    main()
