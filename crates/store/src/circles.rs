//! Finds cycles in a graph.

use std::collections::HashMap;
use std::hash::Hash;

/// The nodes of a cycle reachable from some nodes, in order, if there is one. The targets of each node are requested once.
pub fn find<Node: Clone + Eq + Hash, Error>(
    starts: impl IntoIterator<Item = Node>,
    mut targets: impl FnMut(&Node) -> Result<Vec<Node>, Error>,
) -> Result<Option<Vec<Node>>, Error> {
    // Whether a visited node is on the path, or done.
    let mut is_on_path: HashMap<Node, bool> = HashMap::new();
    for start in starts {
        // The nodes on the path to the current one, each with its remaining targets.
        let mut path: Vec<(Node, Vec<Node>)> = Vec::new();
        let mut next = Some(start);
        loop {
            if let Some(node) = next {
                match is_on_path.get(&node) {
                    Some(true) => {
                        let nodes = path.into_iter().map(|(node, _)| node);
                        return Ok(Some(nodes.skip_while(|before| *before != node).collect()));
                    }
                    Some(false) => {}
                    None => {
                        let targets = targets(&node)?;
                        is_on_path.insert(node.clone(), true);
                        path.push((node, targets));
                    }
                }
            }
            let Some((node, left)) = path.last_mut() else { break };
            next = left.pop();
            if next.is_none() {
                is_on_path.insert(node.clone(), false);
                path.pop();
            }
        }
    }
    Ok(None)
}

/// The path from one node to another, without the first, if there is one.
pub fn way<Node: Clone + Eq + Hash, Error>(
    from: Node,
    to: Node,
    mut targets: impl FnMut(&Node) -> Result<Vec<Node>, Error>,
) -> Result<Option<Vec<Node>>, Error> {
    // A step back from its end to its beginning would close a cycle.
    let circle = find([to.clone()], |node| if *node == to { Ok(vec![from.clone()]) } else { targets(node) })?;
    Ok(circle.map(|circle| circle.into_iter().skip(2).chain([to]).collect()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    #[test]
    fn a_circle_is_found_with_its_way() {
        for (edges, expected) in [
            ("", ""),
            ("ab bc ac", ""),
            ("ab bc ca", "abc"),
            ("ab bc cd db", "bcd"),
            ("aa", "a"),
            ("ab ac bd cd de", ""),
            ("ab cd dc", "cd"),
        ] {
            let targets = |node: &char| {
                let of_node = edges.split(' ').filter_map(|edge| edge.strip_prefix(*node));
                Ok::<_, Infallible>(of_node.filter_map(|rest| rest.chars().next()).collect())
            };
            let Ok(found) = super::find("abcde".chars(), targets);
            assert_eq!(found.unwrap_or_default().into_iter().collect::<String>(), expected, "{edges}");
        }
    }
}
