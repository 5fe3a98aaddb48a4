"""The atlas: what each lane does on each scenario in each mode, and what another version of a package changes in it."""
