"""The tables of GFM-RAG on the data at hand: `python bench/papers/gfm_rag.py TABLE [--form ours|paper] [--quick]`.

    retrieval  table 2 and 4: recall and milliseconds of `gfm` and of all baselines (--retrievers, --weights)
    answers    table 3: exact match and F1, with --model PROVIDER:NAME or without one (--retrievers)
    encoders   table 8: a network for each text encoder (--encoders)
    stages     table 9: completion of facts, path questions and human questions, each alone and before the last
    alpha      table 10: the weight of the cross-entropy, by mean reciprocal rank
    losses     the three ranking losses, each with several weights of the cross-entropy
    transfer   table 11: zero-shot on a corpus and fine-tuned on it, and trained on one corpus alone
    width      table 12: the width, with a fit of what is missed (--widths)
    data       figure 5: shares of the training questions, with a fit of what is missed (--shares)
    scaling    figure 4: widths and shares together, with the joint law
    rankers    the rankers of the form paper
    parts      without features, prior, learned inverses; other messages and aggregations; depth

Networks are of `--form ours`, or of `--form paper`: entities, width 512, six layers, the whole graph, exact negatives,
30,000 steps of facts and 5 epochs, for which a GPU is wanted (`--device`). `--width`, `--layers`, `--nodes`,
`--epochs`, `--steps` change a form, and what they change is printed. `--weights` run on the whole graph in retrieval,
or on `--nodes` near the question, as they may have been trained. Reciprocal ranks are those of the gold nodes of a
question, passages for ours and entities for the paper's. Development questions choose the epoch, and none does in
`transfer`; 2wiki is only evaluated. `epoch taken` 0 is the network before its training: ours ranks by walk and chains
then, so that rows of epoch 0 are all equal. `--quick` runs on made data in a minute.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), sections 4 and D.
Differs from the source: the corpora, their graphs and the encoder are those at hand.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.nn.query_gnn import QueryGNN
from clew.plugins.spec import split_list
from clew.training.hyperparameters import Recipe, RetrievalLoss
from clew.training.objectives.document_retrieval import entity_ranks, mean_recall
from clew_lab.gfm.entity_graphs import EntityRanker
from clew_lab.training.hyperparameters import CompletionRecipe
from clew_lab.training.recipes.gfm_recipe import GFMRecipe, published_recipe
from gnn_lab import TRAINING_SETS, VALIDATION_SETS, Lab, percent
from papers import command_line
from papers.command_line import (
    check_options,
    fill_missing,
    make_parser,
    run_program,
    some_of,
    split_seeds,
    whole_number,
)
from papers.evaluated import SETS, answer_rows, open_set, questions_file
from papers.made_data import run_on_made_data
from papers.scaling_law import fit_joint_law, fit_power_law
from retrieval import report_set
from workbench import WORK, describe_machine, print_table

QUESTIONS = {"hotpotqa": "dev", "musique-dev": "dev", "2wiki": "questions"}
"""For each set its file of questions."""
TRAINED_ON = {"hotpotqa": "hotpotqa", "musique-dev": "musique", "2wiki": "2wiki-train"}
"""For each set the corpus of the same domain that has training questions."""
RETRIEVERS = (
    "gfm,chains,bm25,dense,fused,maxsim,entity-graph,title-links,hipporag,hipporag2,linearrag,sprig,pagerank,"
    "ircot:base=bm25,ircot:base=dense,ircot:base=hipporag"
)
ANSWERED = "gfm,dense,maxsim,hipporag,ircot:base=dense,ircot:base=hipporag,ircot:base=gfm"
ENCODERS = [DEFAULT_ENCODER, "sentence-transformers/all-mpnet-base-v2", "BAAI/bge-base-en-v1.5"]
DEFAULTS = {
    "seeds": (0, 1, 2),
    "widths": [32, 64, 128, 256, 512],
    "shares": [0.05, 0.1, 0.2, 0.5, 1.0],
    "encoders": ENCODERS,
}
"""Options that are not given; the others are those of the form, and all questions."""
QUICK = {
    "width": 8,
    "layers": 2,
    "nodes": 30,
    "epochs": 1,
    "steps": 2,
    "limit": 3,
    "seeds": (0,),
    "widths": [8, 16],
    "shares": [0.5, 1.0],
    "encoders": [DEFAULT_ENCODER, "hashing"],
}
"""The same with `--quick`: tiny networks, few epochs, one seed, few rows."""
TRAINED = "encoders stages alpha losses transfer width data scaling rankers parts"
OPTIONS = {
    **dict.fromkeys(("form", "seeds", "corpora", "width", "layers", "epochs", "steps", "device"), TRAINED),
    "nodes": f"{TRAINED} retrieval",
    **dict.fromkeys(("limit", "retrievers"), "retrieval answers"),
    "weights": "retrieval",
    "model": "answers",
    "encoders": "encoders",
    "widths": "width scaling",
    "shares": "data scaling",
    "alphas": "alpha losses",
}
"""The tables that read an option, of those that not all read."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the network: its recipe to fine-tune, and the one to complete facts."""

    name: str
    recipe: GFMRecipe
    facts: GFMRecipe
    corpora: tuple[str, ...]  # with the questions that it learns
    path_questions: int

    def with_seed(self, seed: int) -> "Form":
        """Return the form with another random seed."""
        recipe, facts = (replace(one, loop=replace(one.loop, seed=seed)) for one in (self.recipe, self.facts))
        return replace(self, recipe=recipe, facts=facts)

    def describe(self, facts: bool) -> str:
        """Return one line of what decides the size of the training, whether or not it completes facts."""
        r, nodes = self.recipe, "the whole graph" if self.recipe.whole_graph else f"{self.recipe.nodes} nodes"
        schedule = f"at most {r.loop.epochs} epochs of questions"
        schedule = f"{self.facts.completion.steps} steps of facts, {schedule}" if facts else schedule
        shape = f"{r.targets}, width {r.width}, {r.layers} layers, {nodes}"
        return f"form {self.name}: {shape}, {schedule} of {', '.join(self.corpora)}"


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A trained network under the label of its row."""

    label: str
    model: QueryGNN
    seconds: float
    epoch: int  # after which its weights were taken, from 1; 0 for those that the last training began with
    lab: "Lab | None" = None  # where it is measured, if not in the lab of the table


@dataclass(frozen=True, slots=True)
class Figures:
    """Recall at 2 and 5, and mean reciprocal rank, of one network on one set."""

    two: float
    five: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured of one network: its figures on each set, seconds of training, and `Network.epoch`."""

    figures: list[Figures]
    seconds: float
    epoch: int


Table = Callable[[Lab, Form, argparse.Namespace], Iterator[Network]]


def main(given: Sequence[str] | None = None) -> None:
    """Print one table."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    sets = arguments.sets
    print(describe_machine(), flush=True)
    if arguments.table == "retrieval":
        nodes = f",nodes={arguments.nodes}" if arguments.nodes else ""
        form = f"gfm-paper:weights={arguments.weights}{nodes}" if arguments.weights else ""
        retrievers = [*(arguments.retrievers or split_list(RETRIEVERS)), *filter(None, [form])]
        for name in sets:
            report_set(name, retrievers, questions_file(name, arguments.limit))
        return
    if arguments.table == "answers":
        for name in sets:
            retrievers = arguments.retrievers or split_list(ANSWERED)
            print()
            rows = answer_rows(open_set(name), questions_file(name, arguments.limit), retrievers, arguments.model)
            print_table((f"{name}, {arguments.model or 'quoted'}", "EM", "F1", "R@5", "calls", "tokens"), rows)
        return
    form_ = build_form(arguments)
    seeds = arguments.seeds
    print(form_.describe(completes_facts(arguments)), f"seeds {','.join(map(str, seeds))}", flush=True)
    lab = Lab(form_.recipe)
    if arguments.table == "rankers":
        print_rankers(lab, form_, seeds, sets, arguments.device)
        return
    runs: dict[str, list[Run]] = {}
    sizes: dict[str, int] = {}
    for seed in seeds:
        for network in TABLES[arguments.table](lab, form_.with_seed(seed), arguments):
            network.model.to(arguments.device)
            figures = [measure(network, lab, name) for name in sets]
            runs.setdefault(network.label, []).append(Run(figures, network.seconds, network.epoch))
            sizes[network.label] = sum(parameter.numel() for parameter in network.model.parameters())
            shown = [f"{100 * f.two:.1f} {100 * f.five:.1f} {f.mrr:.4f}" for f in figures]
            print(
                network.label,
                f"seed {seed}",
                *shown,
                f"{network.seconds:.0f} s",
                f"epoch {network.epoch}",
                sep=" | ",
                file=sys.stderr,
                flush=True,
            )
    print_runs(arguments.table, runs, sets)
    chosen = [number for number, name in enumerate(sets) if name in VALIDATION_SETS] or range(len(sets))
    fitted = {label: [[run.figures[number] for number in chosen] for run in own] for label, own in runs.items()}
    print_fit(arguments.table, lab, form_, sizes, fitted)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("table", choices=("retrieval", "answers", *TABLES, "rankers"))
    parser.add_argument("--sets", type=some_of(SETS), default=[*SETS])
    parser.add_argument("--form", choices=("ours", "paper"), help="paper for the table rankers, else ours by default")
    parser.add_argument("--seeds", type=split_seeds, help="of the training, by commas; 0,1,2 by default")
    parser.add_argument(
        "--corpora",
        type=some_of(TRAINING_SETS),
        default=[*TRAINING_SETS],
        help="that networks are trained on",
    )
    parser.add_argument("--limit", type=whole_number, help="first questions of each set, of retrieval and answers")
    parser.add_argument("--retrievers", type=command_line.retrievers, help="of retrieval and answers")
    parser.add_argument(
        "--weights", type=command_line.existing_folder, help="weights of the form paper, beside ours in retrieval"
    )
    parser.add_argument("--model", type=command_line.model, default="", help="PROVIDER:NAME that writes the answers")
    parser.add_argument("--encoders", type=command_line.encoders, help=f"by default {', '.join(ENCODERS)}")
    parser.add_argument("--widths", type=command_line.whole_numbers, help="by default 32,64,128,256,512")
    shares = command_line.shares_between(0.0, 1.0, with_low=False)
    parser.add_argument("--shares", type=shares, help="by default 0.05,0.1,0.2,0.5,1.0")
    alphas = command_line.shares_between(0.0, 1.0, with_low=True)
    parser.add_argument("--alphas", type=alphas, default=[0.0, 1.0, 0.7, 0.3], help="by default 0,1,0.7,0.3")
    for name in ("width", "layers", "nodes", "epochs", "steps"):
        parser.add_argument(f"--{name}", type=whole_number, help="in place of the form's")
    parser.add_argument(
        "--device", type=command_line.device, default="cpu", help="where networks are trained: cpu or cuda"
    )
    parser.add_argument("--quick", action="store_true", help="made data, and tiny networks where no option says more")
    arguments = parser.parse_args(given)
    check_options(parser, arguments, OPTIONS)
    arguments.form = arguments.form or ("paper" if arguments.table == "rankers" else "ours")
    if arguments.steps and not completes_facts(arguments):
        parser.error(f"--steps are of facts, on which {arguments.table} of ours does not train: leave it out")
    if arguments.table == "retrieval" and arguments.nodes and not arguments.weights:
        parser.error("--nodes are those of the graph that --weights run on: give both")
    if arguments.table == "rankers" and arguments.form != "paper":
        parser.error("rankers are of entities: give --form paper")
    if arguments.table == "transfer" and len(arguments.corpora) < 2:
        parser.error(f"--corpora is {arguments.corpora[0]}: transfer wants at least two, to leave one out")
    fill_missing(arguments, QUICK if arguments.quick else DEFAULTS)
    return arguments


def completes_facts(arguments: argparse.Namespace) -> bool:
    """Whether a table trains on facts: all do in the paper's form, of ours one alone."""
    return bool(arguments.form == "paper" or arguments.table == "stages")


def build_form(arguments: argparse.Namespace) -> Form:
    """Return the form that the arguments name; a number of nodes leaves the whole graph."""
    paper = arguments.form == "paper"
    if paper:
        recipe, facts = published_recipe(), published_recipe("pretrain")
    else:
        recipe = GFMRecipe(width=64, layers=3, nodes=100, loop=Recipe(epochs=4))
        facts = replace(recipe, loss=RetrievalLoss(1.0), completion=CompletionRecipe(steps=600, nodes=100))
        facts = replace(facts, loop=Recipe(epochs=2))
    shape = {name: getattr(arguments, name) for name in ("width", "layers", "nodes") if getattr(arguments, name)}
    if "nodes" in shape:
        shape["whole_graph"] = False
    recipe, facts = replace(recipe, **shape), replace(facts, **shape)
    completion = replace(facts.completion, nodes=arguments.nodes or facts.completion.nodes)
    completion = replace(completion, steps=arguments.steps or completion.steps)
    facts = replace(facts, completion=completion)
    if arguments.epochs:
        recipe = replace(recipe, loop=replace(recipe.loop, epochs=arguments.epochs))
        facts = replace(facts, loop=replace(facts.loop, epochs=min(arguments.epochs, facts.loop.epochs)))
    corpora = tuple(arguments.corpora)
    return Form(arguments.form, recipe, facts, corpora, 20 if arguments.quick else 1000)


def measure(network: Network, lab: Lab, name: str) -> Figures:
    """Return the figures of a network on a set."""
    examples = (network.lab or lab).examples(name, QUESTIONS[name])
    two, five = mean_recall(network.model, examples, (2, 5))
    mrr, _ = entity_ranks(network.model, examples)
    return Figures(two, five, mrr)


def print_runs(table: str, runs: dict[str, list[Run]], sets: Sequence[str]) -> None:
    """Print a row for each network: the mean over the seeds, with the minimum and maximum of several.

    Epochs are those after which the weights were taken, of each seed; 0 are the weights that it began with.
    """
    rows = []
    for label, own in runs.items():
        cells = []
        for number in range(len(sets)):
            figures = [run.figures[number] for run in own]
            mrr = [f.mrr for f in figures]
            spread = f" ({min(mrr):.4f}-{max(mrr):.4f})" if len(mrr) > 1 else ""
            cells += [percent([f.two for f in figures]), percent([f.five for f in figures])]
            cells.append(f"{np.mean(mrr):.4f}{spread}")
        epochs = ", ".join(str(run.epoch) for run in own)
        rows.append([label, *cells, epochs, f"{np.mean([run.seconds for run in own]):.0f}"])
    heads = [f"{name} {figure}" for name in sets for figure in ("R@2", "R@5", "MRR")]
    print_table((table, *heads, "epoch taken", "seconds"), rows)


def labelled(lab: Lab, corpora: Sequence[str]) -> list:  # type: ignore[type-arg]
    """Return the training questions of some corpora."""
    return [lab.examples(name, "train") for name in corpora]


def pretrain(lab: Lab, form: Form, arguments: argparse.Namespace) -> tuple[QueryGNN | None, float]:
    """Return the network to begin with, and its training seconds: the paper's learned facts, ours is random."""
    if form.name == "ours":
        return None, 0.0
    model, done = lab.complete(form.facts, form.corpora, arguments.device)
    return model, done.seconds


def encoders(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Train a network for each encoder, on indexes of it."""
    for encoder in arguments.encoders:
        own = lab if encoder == lab.encoder else Lab(form.recipe, encoder=encoder)
        start, seconds = pretrain(own, form, arguments)
        model, done = own.fit(form.recipe, labelled(own, form.corpora), start, device=arguments.device)
        yield Network(encoder, model, seconds + done.seconds, done.best_epoch + 1, own)


def stages(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Train without labels, and then with labels."""
    device = arguments.device
    model, done = lab.fit(form.recipe, labelled(lab, form.corpora), device=device)
    yield Network("human questions (without pre-training)", model, done.seconds, done.best_epoch + 1)
    model, done = lab.complete(form.facts, form.corpora, device)
    yield Network("facts (without fine-tuning)", model, done.seconds, done.best_epoch + 1)
    model, again = lab.fit(form.recipe, labelled(lab, form.corpora), model, device=device)
    yield Network("facts, then human questions", model, done.seconds + again.seconds, again.best_epoch + 1)
    generated = [lab.path_questions(name, form.path_questions) for name in form.corpora]
    fewer = replace(form.recipe, loop=replace(form.recipe.loop, epochs=min(3, form.recipe.loop.epochs)))
    model, done = lab.fit(fewer, generated, device=device)
    yield Network("path questions", model, done.seconds, done.best_epoch + 1)
    model, again = lab.fit(form.recipe, labelled(lab, form.corpora), model, device=device)
    yield Network("path questions, then human questions", model, done.seconds + again.seconds, again.best_epoch + 1)


def alpha(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Vary the weight of the cross-entropy."""
    for weight in arguments.alphas:
        start, seconds = pretrain(lab, form, arguments)
        recipe = replace(form.recipe, loss=replace(form.recipe.loss, alpha=weight))
        model, done = lab.fit(recipe, labelled(lab, form.corpora), start, device=arguments.device)
        yield Network(f"alpha {weight:g}", model, seconds + done.seconds, done.best_epoch + 1)


def losses(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Vary the ranking loss, and the weight of the cross-entropy beside it."""
    for ranking in ("listwise", "paper", "code"):
        own = replace(form, recipe=replace(form.recipe, loss=replace(form.recipe.loss, ranking=ranking)))
        for network in alpha(lab, own, arguments):
            yield replace(network, label=f"{ranking}, {network.label}")


def transfer(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Train on the other corpora, then on the own one; on one corpus alone, and on all. The last epoch is taken.

    Facts are of the corpora that a row names alone, too: of the corpus that is left out no fact is learned.
    """
    for name in arguments.sets:
        own = TRAINED_ON[name]
        others = tuple(corpus for corpus in form.corpora if corpus != own)
        start, seconds = pretrain(lab, replace(form, corpora=others), arguments)
        model, done = lab.fit(form.recipe, labelled(lab, others), start, (), arguments.device)
        yield Network(f"without {own} (zero-shot there)", model, seconds + done.seconds, done.best_epoch + 1)
        model, again = lab.fit(form.recipe, labelled(lab, [own]), model, (), arguments.device)
        yield Network(
            f"without {own}, then {own} (fine-tuned)",
            model,
            seconds + done.seconds + again.seconds,
            again.best_epoch + 1,
        )
    for corpora in (*((name,) for name in form.corpora), form.corpora):
        start, seconds = pretrain(lab, replace(form, corpora=corpora), arguments)
        model, done = lab.fit(form.recipe, labelled(lab, corpora), start, (), arguments.device)
        yield Network(
            " and ".join(corpora) + " alone" * (len(corpora) == 1), model, seconds + done.seconds, done.best_epoch + 1
        )


def parts(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Remove or change one part at a time; features and the prior are of ours."""
    own = form.recipe
    changes = {
        "all parts": own,
        "no features": replace(own, features=False),
        "no prior": replace(own, prior=False),
        "neither": replace(own, features=False, prior=False),
        "TransE": replace(own, message="transe"),
        "mean": replace(own, aggregate="mean"),
        "2 layers": replace(own, layers=2),
        "6 layers": replace(own, layers=6),
        "averaged weights": replace(own, loop=replace(own.loop, average=0.99)),
        "no averaged weights": replace(own, loop=replace(own.loop, average=0.0)),
        "whole questions alone": replace(own, loss=replace(own.loss, augment=False)),
    }
    for label, recipe in changes.items():
        if label == "all parts" or recipe != own:
            start, seconds = pretrain(lab, replace(form, facts=_shaped(form.facts, recipe)), arguments)
            model, done = lab.fit(recipe, labelled(lab, form.corpora), start, device=arguments.device)
            yield Network(label, model, seconds + done.seconds, done.best_epoch + 1)


def _shaped(facts: GFMRecipe, like: GFMRecipe) -> GFMRecipe:
    return replace(facts, message=like.message, aggregate=like.aggregate, layers=like.layers, width=like.width)


def width(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Vary the width of the states."""
    for value in arguments.widths:
        rate = form.recipe.loop.rate
        if form.name == "ours" and value >= 256:
            rate = 1e-3  # wider networks diverge at the higher rate
        recipe = replace(form.recipe, width=value, loop=replace(form.recipe.loop, rate=rate))
        start, seconds = pretrain(lab, replace(form, facts=_shaped(form.facts, recipe)), arguments)
        model, done = lab.fit(recipe, labelled(lab, form.corpora), start, device=arguments.device)
        yield Network(str(value), model, seconds + done.seconds, done.best_epoch + 1)


def data(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Vary the number of questions at an equal number of steps."""
    for share in arguments.shares:
        epochs = max(1, round(form.recipe.loop.epochs / share))
        loop = replace(form.recipe.loop, epochs=epochs, patience=epochs // 2)
        start, seconds = pretrain(lab, form, arguments)
        recipe = replace(form.recipe, fraction=share, loop=loop)
        model, done = lab.fit(recipe, labelled(lab, form.corpora), start, device=arguments.device)
        yield Network(str(share), model, seconds + done.seconds, done.best_epoch + 1)


def scaling(lab: Lab, form: Form, arguments: argparse.Namespace) -> Iterator[Network]:
    """Vary width and number of questions together."""
    for value in arguments.widths:
        own = argparse.Namespace(**{**vars(arguments), "widths": [value]})
        for share in arguments.shares:
            epochs = max(1, round(form.recipe.loop.epochs / share))
            loop = replace(form.recipe.loop, epochs=epochs, patience=epochs // 2)
            recipe = replace(form.recipe, fraction=share, loop=loop)
            for network in width(lab, replace(form, recipe=recipe), own):
                yield replace(network, label=f"{value} of {share}")


def print_rankers(lab: Lab, form: Form, seeds: Sequence[int], sets: Sequence[str], device: str) -> None:
    """Print the recall of the form paper with each ranker."""
    runs: dict[tuple[str, str], list[list[float]]] = {}
    for seed in seeds:
        own = form.with_seed(seed)
        model, _ = lab.complete(own.facts, form.corpora, device)
        model, _ = lab.fit(own.recipe, labelled(lab, form.corpora), model, device=device)
        model.to(device)
        for name in sets:
            source, snapshot = lab.examples(name, QUESTIONS[name]), lab.view(name).snapshot
            rankers = {
                "paper": EntityRanker(snapshot, weighted=False),
                "weighted": EntityRanker(snapshot, weighted=True),
                "weighted, all entities": EntityRanker(snapshot, weighted=True, entities=None),
                "weighted, no rarity": EntityRanker(snapshot, weighted=True, rarity=False),
            }
            for label, ranker in rankers.items():
                recalls = mean_recall(model, replace(source, ranker=ranker), (2, 5, 10))
                runs.setdefault((name, label), []).append(recalls)
    rows = [[*key, *(percent([run[i] for run in own]) for i in range(3))] for key, own in runs.items()]
    print_table(("set", "ranker", "R@2", "R@5", "R@10"), rows)


def print_fit(table: str, lab: Lab, form: Form, sizes: dict[str, int], figures: dict[str, list[list[Figures]]]) -> None:
    """Print and plot the law of a table of widths or shares, over the sets whose questions choose the epoch."""
    if table not in ("width", "data", "scaling"):
        return
    mean = {
        label: np.mean([[(f.five, f.mrr) for f in run] for run in runs], axis=(0, 1)) for label, runs in figures.items()
    }
    questions = sum(len(examples.items) for examples in labelled(lab, form.corpora))
    if table == "scaling":
        shares = [float(label.rpartition(" of ")[2]) for label in mean]
        x, y = [share * questions for share in shares], [float(sizes[label]) for label in mean]
        print(f"\nMRR: {fit_joint_law(x, y, [float(pair[1]) for pair in mean.values()])}; form {form.name}")
        return
    across = [float(sizes[label]) if table == "width" else float(label) * questions for label in mean]
    missed = [max(1.0 - float(pair[0]), 1e-6) for pair in mean.values()]
    law = fit_power_law(across, missed)
    what = "parameters" if table == "width" else "training questions"
    steps = ", ".join(f"{100 * (one - other):+.1f}" for one, other in pairwise(missed))
    print(f"\nmissed of R@5 = {law.a:.3f} x {what} ** {law.p:.3f}, R squared {law.explained:.2f}; steps: {steps}")
    plot(WORK / f"gfm-{form.name}-{table}.svg", what, across, missed, [law.a * size**law.p for size in across])


def plot(path: Path, what: str, sizes: Sequence[float], missed: Sequence[float], fitted: Sequence[float]) -> None:
    """Draw what is missed by size, measured and fitted."""
    from matplotlib import pyplot as plt

    plt.figure(figsize=(5, 3.5))
    plt.loglog(sizes, missed, "o", label="measured")
    plt.loglog(sizes, fitted, label="power law")
    plt.ylim(min(missed) / 2, 2 * max(missed))  # of equal shares there is no range to choose
    plt.xlabel(what)
    plt.ylabel("share of evidence missed")
    plt.legend()
    plt.tight_layout()
    plt.savefig(path)
    plt.close()
    print(f"plotted in {path.name} beside the indexes")


TABLES: dict[str, Table] = {
    "encoders": encoders,
    "stages": stages,
    "alpha": alpha,
    "losses": losses,
    "transfer": transfer,
    "width": width,
    "data": data,
    "scaling": scaling,
    "parts": parts,
}

if __name__ == "__main__":
    run_program(main)
