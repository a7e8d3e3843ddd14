"""Picks the cases that a command line names."""

import fnmatch


def chosen(words, names):
    """Returns the `names` that match `words`, in their own order. `words` is a list with commas of names or patterns such as
    'allreduce-*'; an empty list matches all. Raises ValueError if a word matches no name."""
    names = list(dict.fromkeys(names))
    wanted = [word for word in (words or "").split(",") if word] or ["*"]
    for word in wanted:
        if not fnmatch.filter(names, word):
            raise ValueError(f"no case '{word}': {', '.join(names)}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, word) for word in wanted)]
