"""Picks the cases that a command line names."""

import difflib
import fnmatch

SHOWN = 16


def chosen(words, names):
    """Returns the `names` that match `words`, in their own order. `words` is a list with commas of names or patterns such as
    'allreduce-*'; an empty list matches all. Raises ValueError if a word matches no name."""
    names = list(dict.fromkeys(names))
    wanted = [word for word in (words or "").split(",") if word] or ["*"]
    for word in wanted:
        if not fnmatch.filter(names, word):
            raise ValueError(f"no case '{word}': {near(word, names)}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, word) for word in wanted)]


def near(word, names):
    """The names as text; of many only those that are the most like `word`."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    alike = difflib.get_close_matches(word.replace("*", ""), names, SHOWN // 2, cutoff=0)
    return f"{', '.join(alike)} and {len(names) - len(alike)} others"
