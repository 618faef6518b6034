"""Which corners of cut-off cones lie on extreme rays: what cells on unbounded domains are."""

from polycarve.splitting.kernels.compilation import kernel


@kernel
def mark_rays(vertex_offsets, facet_offsets, link_offsets, links, is_used, is_apex, is_on, kept):
    """Mark the corners, the apex aside, whose facets no other corner shares all of.

    Region i has the corners and facets between its offsets; facet f has the corners ``links[...]``,
    counted from the first of the region. Those that are not `is_used` only end the cut-off. A
    region without an apex contains a line, and has no rays. ``is_on`` is room, (facets, corners).
    """
    for region in range(len(vertex_offsets) - 1):
        v0, n = vertex_offsets[region], vertex_offsets[region + 1] - vertex_offsets[region]
        has_apex = False
        for v in range(n):
            has_apex = has_apex or is_apex[v0 + v]
            for f in range(facet_offsets[region + 1] - facet_offsets[region]):
                is_on[f, v] = False
        n_facets = 0
        for f in range(facet_offsets[region], facet_offsets[region + 1]):
            if is_used[f]:
                for link in range(link_offsets[f], link_offsets[f + 1]):
                    is_on[n_facets, links[link]] = True
                n_facets += 1
        for v in range(n):
            kept[v0 + v] = has_apex and not is_apex[v0 + v]
            for w in range(n):
                if w == v or is_apex[v0 + w]:
                    continue
                shares_all = True
                for f in range(n_facets):
                    if is_on[f, v] and not is_on[f, w]:
                        shares_all = False
                        break
                if shares_all:
                    kept[v0 + v] = False
                    break
