"""Chains of sentences: passages by the best chain that they stand in, and by the walk from the names of the question.

A passage scores 2 x (its chain's share of the best chain's score) + log(its share of the best PageRank) / 7.

Source: the spec of sentence chains, found by prototypes; no paper. Differs from the source: see `query.chain_search`.
"""

import time
from typing import ClassVar, Literal

import numpy as np

from clew.arrays import BoolArray, LongArray, top_order
from clew.graph.paths.sentence_chains import NO_BRIDGE, ChainWeights
from clew.plugins.records import Amount, SettingsRecord, WholeNumber, setting
from clew.query.chain_search import ChainSearch, ChainSearchConfig, QuestionChains, QuestionVectors
from clew.query.context import IndexContext
from clew.query.first_sentences import FirstWeights
from clew.query.graph_walk import NO_MATCH
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.types import Evidence
