"""Which cases a command line names."""

import fnmatch


def chosen(words, names):
    """Those of `names` that the list with commas names, names or patterns as 'allreduce-*', in their order; all if it is empty. ValueError
    if a word names none."""
    names = list(dict.fromkeys(names))
    wanted = [word for word in (words or "").split(",") if word] or ["*"]
    for word in wanted:
        if not fnmatch.filter(names, word):
            raise ValueError(f"no case '{word}': {', '.join(names)}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, word) for word in wanted)]
