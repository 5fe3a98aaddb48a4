"""`make bench`: ratios within one run, in CPU time, and exact counts of function calls."""

from bench import judge, lanes, requests, storage
from bench.model import model


def main() -> None:
    """Print all figures; the catalogue first, because it counts the imports."""
    for lines in (judge.whole_catalogue(), judge.keeping(), judge.comparing()):
        for line in lines:
            print(line, flush=True)
    with model() as base_url:
        for table in (lanes.table, requests.table, requests.counts, storage.table):
            for line in table(base_url):
                print(line, flush=True)


if __name__ == "__main__":
    main()
