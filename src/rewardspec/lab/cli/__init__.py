"""Commands of the lab; `rewardspec.cli` lists them beside those of the library."""
