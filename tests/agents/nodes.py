"""A slow, simple way to follow nodes, to compare agents with."""


def simulated_nodes(graph, actions, dones):
    """Return the node of each environment before each step, and after the last one."""
    node, length = [0] * len(actions[0]), [0] * len(actions[0])
    history = [list(node)]
    for row, ended in zip(actions, dones, strict=True):
        for env, (action, done) in enumerate(zip(row, ended, strict=True)):
            node[env] = int(graph.successors[node[env], action])
            length[env] += 1
            if done or length[env] == graph.depth or graph.ends[node[env]]:
                node[env] = length[env] = 0
        history.append(list(node))
    return history
