"""Pages to look at: the page of an episode, and the playground.

Each is plain HTML, CSS and JavaScript, in `front/`, and loads nothing from elsewhere. Names and formulas come from
whoever wrote them, so they reach a page as data and are shown as text, never as markup.
"""

from rewardspec.pages.episode_page import write_episodes as write_episodes

__all__ = ["write_episodes"]
