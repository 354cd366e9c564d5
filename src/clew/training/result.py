"""The result of a training run."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Figures and sizes of a training run; a recipe fills in what it has."""

    best_epoch: int = -1  # from 0; -1 if the weights before training were the best, or if there are no epochs
    # of the best epoch on the validation data, by name; the first one chose the epoch, higher is better
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    # the same figures without the training: of the weights it began with or, for a reranker, of the passages in the
    # order they were found in
    initial_figures: dict[str, float] = field(default_factory=dict)
    questions: int = 0  # questions, or pools of passages, that were learned from
    held_out: int = 0  # questions that chose the epoch
    left_out: int = 0  # questions that could not be used
    parameters: int = 0  # of the network
    gold_nodes: int = 0  # nodes that the questions ask for, over all questions
    gold_nodes_outside: int = 0  # those among them that the graph of their question does not hold
    notes: tuple[str, ...] = ()  # for the user
