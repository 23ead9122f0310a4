"""From formulas to machines: `quantitative/` compiles register programs, `boolean/` minimal automata."""
