"""The figures and tables of Kreutzer et al. (2020), measured on a user's models.

`measure` has a function for each figure, `points` what they measure, `reliability`
the model's own probabilities, `compare` the statistics of a comparison, `claims` the
verdicts, `draw` and `page` what is shown.
"""
