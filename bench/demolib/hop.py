"""Lets the kernels of a lab's nodes add up small operations where that is possible, and says so."""

import os
import subprocess

OPTION = "SUMAC_NODE_HOP"
USED = "Small operations were added up by the kernels of the nodes (SUMAC_NODE_HOP=auto)."


def words_of_trial(text):
    """Returns why a node's kernel adds up nothing here, from what `sharp_an --hop trial` prints; nothing: it can."""
    why = text.partition("hop: ")[2].partition("\n")[0].strip() or "sharp_an does not say whether this kernel can"
    return None if why == "allowed" else why


def allow(sharp_an, environment=os.environ):
    """Sets the option for the daemons of the labs to come; returns the line for people. Who has set it has decided."""
    if OPTION in environment:
        return f"{OPTION}={environment[OPTION]} was set: small operations went {'by processes' if environment[OPTION] == 'off' else 'as it says'}."
    done = subprocess.run([sharp_an, "--hop", "trial"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    why = words_of_trial(done.stdout)
    if why:
        return f"The nodes were processes, which small operations had to wake: their kernels add up none here ({why})."
    environment[OPTION] = "auto"
    return USED
