"""Sets of instants as sorted lists of (begin, end) that neither touch nor overlap."""


def union(spans):
    merged = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return [tuple(span) for span in merged]


def length(spans):
    return sum(end - begin for begin, end in spans)


def subtract(these, those):
    """What is in `these` and not in `those`; both as union() gives them."""
    rest = []
    place = 0
    for begin, end in these:
        while place < len(those) and those[place][1] <= begin:
            place += 1
        at = place
        while at < len(those) and those[at][0] < end:
            if begin < those[at][0]:
                rest.append((begin, those[at][0]))
            begin = max(begin, those[at][1])
            at += 1
        if begin < end:
            rest.append((begin, end))
    return rest
