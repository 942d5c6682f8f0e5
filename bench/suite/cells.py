"""Numbers as cells of a table; what is not known is an em dash."""

DASH = "—"


def number(value, digits=2):
    return DASH if value is None else f"{value:.{digits}f}"


def between(low, high, digits=2):
    return DASH if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def interval(ci95, digits=3):
    return between(*(ci95 or (None, None)), digits)
