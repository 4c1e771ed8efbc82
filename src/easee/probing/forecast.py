"""A forecast of the steps that a search among words will take."""

from dataclasses import dataclass

from easee.probing.probe import Probe


@dataclass
class Forecast:
    """Updates the forecast of a probe: the steps of a word so far, times the words to come."""

    probe: Probe
    max_length: int
    length: int = 0
    tried: int = 0

    def __post_init__(self) -> None:
        self.start = self.probe.steps

    def update(self, left: int, new: int, tried: int) -> None:
        """Forecast from the words of a length: those left, the new ones and those tried.

        The share of words that are new is assumed to stay the same.
        """
        if not tried:
            self.length += 1
        self.tried += 1
        share = (new + 1) / (tried + 1)
        next_words = (new + share * left) * self.probe.n_actions
        growth = share * self.probe.n_actions
        later = sum(next_words * growth**i for i in range(self.max_length - self.length))
        per_word = (self.probe.steps - self.start) / self.tried
        self.probe.expected = self.probe.steps + round(per_word * (left + later))
