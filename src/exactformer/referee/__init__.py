"""The referee: outputs of other engines, held against the true values of the network that they were given."""

from exactformer.referee.asking import judge
from exactformer.referee.files import read_outputs
from exactformer.referee.outputs import Engine, Given, OutputsError
from exactformer.referee.report import Judgements
from exactformer.referee.running import Models, judge_all

__all__ = ["Engine", "Given", "Judgements", "Models", "OutputsError", "judge", "judge_all", "read_outputs"]
