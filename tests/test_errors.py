"""Exceptions travel: workers send theirs home, whatever class they are of."""

import pickle

import pytest

from rewardspec import errors


@pytest.mark.parametrize(
    "error",
    [
        errors.MissingExtraError("jax", "learn", "Training"),
        errors.FormulaError("No.", text="a b", line=1, column=3, expected=("an operator",)),
        errors.SynthesisError("Too large.", subformula="a"),
        errors.LabelError("The atom 'a' gave 2."),
    ],
)
def test_an_error_comes_out_of_a_pickle_as_it_went_in(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
