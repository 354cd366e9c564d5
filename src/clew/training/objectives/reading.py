"""The objective of a reader: places of answers, and kinds of answers, in windows of questions and texts."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from clew.models.reader.decoding import MAX_SPAN_TOKENS, WindowScores, best_spans
from clew.models.reader.windows import ReaderText, Window, WindowMaker
from clew.nn.span_reader import KINDS, span_loss
from clew.text.answer_metrics import exact_match, token_f1
from clew.training.data.reader_examples import Distractors, LabelledWindow, ReadingExample, draw_window

_CHUNK = 64  # batches whose windows are sorted by length, so that little is padded
_VALIDATED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Source:
    """Examples of one file or index, and how many of them an epoch draws."""

    examples: Sequence[ReadingExample]
    per_epoch: int


@dataclass(frozen=True, slots=True)
class MeasuredQuestion:
    """A question of the validation, with the texts that a search finds."""

    question: str
    answers: tuple[str, ...]
    texts: tuple[ReaderText, ...]


@final
class SpanReading:
    """The loss of a `SpanReader`; validation reads what a search finds, as a user would."""

    no_signal_message = "no window holds an answer: give questions with answers that stand in their passages"

    def __init__(
        self,
        sources: Sequence[Source],
        distractors: Distractors,
        maker: WindowMaker,
        validation: Mapping[str, Sequence[MeasuredQuestion]],
        batch: int,
    ) -> None:
        self._sources = sources
        self._distractors = distractors
        self._maker = maker
        self._validation = validation
        self._batch = batch

    def __len__(self) -> int:
        return -(-sum(source.per_epoch for source in self._sources) // self._batch)

    def batches(self, epoch_seed: int) -> Iterator[list[LabelledWindow]]:
        """Yield the batches of an epoch: of each source as many examples as it draws, the next ones in order."""
        chooser = random.Random(epoch_seed)
        run, epoch = divmod(epoch_seed, 100_003)
        chosen: list[ReadingExample] = []
        for source in self._sources:
            order = list(range(len(source.examples)))
            random.Random(run * 1_000_003 + len(order)).shuffle(order)
            first = epoch * source.per_epoch
            chosen += [source.examples[order[(first + n) % len(order)]] for n in range(source.per_epoch)]
        chooser.shuffle(chosen)
        step = self._batch * _CHUNK
        for start in range(0, len(chosen), step):
            windows = [
                window
                for example in chosen[start : start + step]
                if (window := draw_window(example, self._distractors, self._maker, chooser)) is not None
            ]
            windows.sort(key=lambda one: len(one.window.ids))
            batches = [windows[at : at + self._batch] for at in range(0, len(windows), self._batch)]
            chooser.shuffle(batches)
            yield from batches

    def halve(self, batch: list[LabelledWindow]) -> tuple[list[LabelledWindow], list[LabelledWindow]] | None:
        """Split a batch in two."""
        middle = len(batch) // 2
        return (batch[:middle], batch[middle:]) if middle else None

    def loss(self, model: nn.Module, batch: list[LabelledWindow]) -> Tensor | None:
        """Return the mean of the losses of kinds, and of places where the answer is words of a text."""
        device = next(model.parameters()).device
        ids, types, mask, sentences = stack_windows([one.window for one in batch], device)
        spans, kinds = model(ids, types, mask)
        wanted = torch.tensor([KINDS.index(one.kind) for one in batch], device=device)
        loss = nn.functional.cross_entropy(kinds.float(), wanted)
        rows = [row for row, one in enumerate(batch) if one.kind == "span"]
        if not rows:
            return loss
        most = max(len(batch[row].places) for row in rows)
        places = torch.full((len(rows), most, 2), -1, dtype=torch.long)
        for at, row in enumerate(rows):
            own = torch.tensor(batch[row].places, dtype=torch.long)
            places[at, : len(own)] = own
        places = places.to(device)
        return loss + span_loss(spans[rows], sentences[rows], places, MAX_SPAN_TOKENS).sum() / len(batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the mean F1 over all questions, then exact match and F1 of each set, in percent."""
        model.eval()
        figures: dict[str, float] = {}
        total = 0.0
        for name, questions in self._validation.items():
            windows = [self._maker.make(one.question, one.texts) for one in questions]
            replies = []
            for scores, one, window in zip(score_windows(model, windows), questions, windows, strict=True):
                found = best_spans(scores, window, [text.text for text in one.texts])
                replies.append(found[0].text if found else "")
            for measure, function in (("exact match", exact_match), ("F1", token_f1)):
                values = [function(reply, one.answers) for reply, one in zip(replies, questions, strict=True)]
                figures[f"{name}: {measure}"] = 100 * float(np.mean(values))
            total += figures[f"{name}: F1"] * len(questions)
        count = sum(map(len, self._validation.values()))
        return {"mean F1": total / count, **figures} if count else {}


def score_windows(model: nn.Module, windows: Sequence[Window]) -> list[WindowScores]:
    """Return the scores of windows, in their order."""
    device = next(model.parameters()).device
    order = sorted(range(len(windows)), key=lambda at: len(windows[at].ids))
    found: dict[int, WindowScores] = {}
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
        for start in range(0, len(order), _VALIDATED_AT_ONCE):
            part = order[start : start + _VALIDATED_AT_ONCE]
            ids, types, mask, _ = stack_windows([windows[at] for at in part], device)
            spans, kinds = (one.float().cpu().numpy() for one in model(ids, types, mask))
            for row, at in enumerate(part):
                found[at] = WindowScores(spans[row, : len(windows[at].ids)], kinds[row])
    return [found[at] for at in range(len(windows))]


def stack_windows(windows: Sequence[Window], device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ids, types, the mask of tokens and their sentences (B, L) of windows, padded to the longest."""
    length = max(len(window.ids) for window in windows)
    arrays = np.zeros((4, len(windows), length), dtype=np.int64)
    arrays[3] = -1
    for row, window in enumerate(windows):
        size = len(window.ids)
        arrays[:, row, :size] = np.stack((window.ids, window.types, np.ones_like(window.ids), window.sentence))
    ids, types, mask, sentences = torch.from_numpy(arrays).to(device)
    return ids, types, mask, sentences
