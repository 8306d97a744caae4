# SPDX-License-Identifier: MIT
"""The two rules that judge estimates over many runs, and how often they are wrong.

Over R runs with recorded seeds, for a site and metric with known truth:

  mean rule      |mean estimate - truth| <= 4.5 standard errors. If the estimate is unbiased this
                 fails with probability about erfc(4.5 / sqrt 2) = 6.8e-6 (1.0e-5 by Student's t
                 with 299 degrees of freedom); where the estimates never vary the mean must equal
                 the truth.
  interval rule  no more than 39 of 300 intervals of 95 % miss the truth. If each misses with
                 probability 0.05, independently, P(more than 39) is `binomial_tail(300, .05, 39)`
                 = 2.1e-8; the rule begins to notice intervals that cover less than about 89 %. Of
                 200 runs no more than 30 (2.5e-8), which sets the rate for every number of runs.

`false_alarm_rates` gives both for a whole test, which looks at several hundred figures. Seeds are
recorded, so a test that passed once passes again: the rates are those of the choice of the seeds.
"""
import math

MEAN_LIMIT_STANDARD_ERRORS = 4.5
CONFIDENCE = 0.95


def binomial_tail(runs, probability, most):
    """P(X > most) of a binomial number of `runs`."""
    def term(k):
        choose = math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1)
        return math.exp(choose + k * math.log(probability) + (runs - k) * math.log1p(-probability))
    return math.fsum(term(k) for k in range(most + 1, runs + 1))


def misses_allowed(runs):
    """30 of 200; for other numbers of runs the most that keeps the tail at that of 30 of 200."""
    if runs == 200:
        return 30
    tail = binomial_tail(200, 1 - CONFIDENCE, 30)
    most = 0
    while binomial_tail(runs, 1 - CONFIDENCE, most) > tail:
        most += 1
    return most


def false_alarm_rates(runs, figures):
    """Upper bounds (by the union) on the probability that a correct profiler fails the rules."""
    mean = math.erfc(MEAN_LIMIT_STANDARD_ERRORS / math.sqrt(2))
    return figures * mean, figures * binomial_tail(runs, 1 - CONFIDENCE, misses_allowed(runs))


class Figure:
    """The estimates of one figure over many runs against its truth."""

    def __init__(self, truth):
        self.truth = truth
        self.estimates = []
        self.misses_low = self.misses_high = 0  # truth below the interval, above it

    def add(self, interval):
        """`interval`: a dict with estimate, low and high."""
        self.estimates.append(interval["estimate"])
        slack = 1e-9 * max(1.0, abs(self.truth))  # decimal places of the JSON
        self.misses_low += self.truth < interval["low"] - slack
        self.misses_high += self.truth > interval["high"] + slack

    @property
    def misses(self):
        return self.misses_low + self.misses_high

    def standard_errors(self):
        """(mean - truth) in standard errors; inf if it cannot vary and is wrong."""
        runs = len(self.estimates)
        mean = math.fsum(self.estimates) / runs
        variance = math.fsum((x - mean) ** 2 for x in self.estimates) / (runs - 1)
        error = math.sqrt(variance / runs)
        difference = mean - self.truth
        if error <= 1e-9 * max(1.0, abs(self.truth)):
            return 0.0 if abs(difference) <= 1e-6 * max(1.0, abs(self.truth)) else math.inf
        return difference / error


def inclusion_probability(size, interval, charge=1):
    """Probability that an object below the interval is sampled."""
    if interval == 1 or size + charge >= interval:
        return 1.0
    return -math.expm1((size + charge) * math.log1p(-1 / interval))


def dispersion(counts, probability):
    """Variance over mean of sample counts, 1 if streams are independent (docs/statistics.md);
    `probability`: that one object is sampled."""
    mean = sum(counts) / len(counts)
    squares = math.fsum((count - mean) ** 2 for count in counts)
    return squares / (mean * (1 - probability)) / (len(counts) - 1)


def dispersion_band(streams):
    """Half-width around 1 that a dispersion leaves with probability 1e-6: 4.89 standard
    deviations of sqrt(2 / R); 0.155 for R = 2000."""
    return 4.89 * math.sqrt(2 / streams)
