"""What runs: the exact synthesis of quantitative monitors, minimal automata, bounds, and pictures of both."""
