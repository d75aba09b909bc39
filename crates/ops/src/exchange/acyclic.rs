//! Checks that relationships of a file form no cycle, with each other or with stored ones.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;

use store::{circles, relationship};
use uuid::Uuid;

use super::plan::{Plan, number_of};
use super::things::Related;
use crate::context::Cx;
use crate::error::Result;
use crate::relationship::{LEFT_OUT, circle, shortened};

/// New relationships that must not close a cycle. Their ends are ids.
#[derive(Default)]
pub(super) struct Directed {
    rows: Vec<u32>,
    ends: Vec<(u128, u128)>,
}

impl Directed {
    pub fn add(&mut self, row: usize, source_id: &str, target_id: &str) {
        self.rows.push(row as u32);
        self.ends.push((number_of(source_id), number_of(target_id)));
    }

    /// Reports the rows that would close a cycle, together with each other or with what is stored in some projects.
    pub fn refuse_circles(
        self,
        cx: &mut Cx<'_, '_>,
        plan: &mut Plan<'_>,
        projects: &BTreeSet<String>,
    ) -> Result<()> {
        let Directed { rows, mut ends } = self;
        let n_new = ends.len();
        for project in projects {
            relationship::each_acyclic(cx.tx, project, |source, target| {
                ends.push((number_of(source), number_of(target)));
            })?;
        }
        let graph = Graph::new(ends);
        let leads_back = graph.that_lead_back();
        if leads_back.is_empty() {
            return Ok(());
        }
        // Only nodes that are reachable from cycles can be on one.
        let can_close =
            |(source, target): &(u32, u32)| leads_back[*source as usize] && leads_back[*target as usize];
        let mut targets: HashMap<u32, Vec<u32>> = HashMap::new();
        for (source, target) in graph.edges[n_new..].iter().filter(|edge| can_close(edge)) {
            targets.entry(*source).or_default().push(*target);
        }
        for (row, edge) in rows.iter().zip(&graph.edges[..n_new]).filter(|(_, edge)| can_close(edge)) {
            let of = |node: &u32| Ok::<_, Infallible>(targets.get(node).cloned().unwrap_or_default());
            let Ok(way) = circles::way(edge.1, edge.0, of);
            let Some(way) = way else {
                targets.entry(edge.0).or_default().push(edge.1);
                continue;
            };
            let row = plan.rows.get(*row as usize)?;
            // A file may close a cycle in every row; rows that are not listed need no names.
            if !plan.lists_more() {
                plan.wrong(&row, "target", "");
                continue;
            }
            let way = way.into_iter().map(|node| graph.id(node)).collect();
            let mut named = Vec::new();
            for step in shortened(way) {
                named.push(if step == LEFT_OUT { step } else { plan.name(cx, &step)? });
            }
            let source = plan.name(cx, &graph.id(edge.0))?;
            let target = plan.name(cx, &graph.id(edge.1))?;
            let Related { relationship, .. } = plan.items.get(row.index)?;
            plan.wrong(&row, "target", circle(&source, &relationship.type_name, &target, named));
        }
        Ok(())
    }
}

/// A graph with numbered nodes.
struct Graph {
    /// The ids of the nodes, in order.
    ids: Vec<u128>,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    fn new(ends: Vec<(u128, u128)>) -> Graph {
        let mut ids = Vec::with_capacity(2 * ends.len());
        ids.extend(ends.iter().flat_map(|(source, target)| [*source, *target]));
        ids.sort_unstable();
        ids.dedup();
        ids.shrink_to_fit();
        let node = |id: &u128| ids.binary_search(id).unwrap_or_default() as u32;
        let edges = ends.iter().map(|(source, target)| (node(source), node(target))).collect();
        Graph { ids, edges }
    }

    fn id(&self, node: u32) -> String {
        Uuid::from_u128(self.ids[node as usize]).to_string()
    }

    /// The nodes that are on a cycle or lead to one; empty if there is none. Nodes without targets are removed until
    /// none is left, or only those.
    fn that_lead_back(&self) -> Vec<bool> {
        let n_nodes = self.ids.len();
        let (mut n_targets, mut starts) = (vec![0_u32; n_nodes], vec![0_u32; n_nodes + 1]);
        for (source, target) in &self.edges {
            n_targets[*source as usize] += 1;
            starts[*target as usize + 1] += 1;
        }
        for node in 0..n_nodes {
            starts[node + 1] += starts[node];
        }
        // The sources of every node, one node after the other.
        let (mut sources, mut next) = (vec![0_u32; self.edges.len()], starts.clone());
        for (source, target) in &self.edges {
            let place = &mut next[*target as usize];
            sources[*place as usize] = *source;
            *place += 1;
        }
        let mut leads_back = vec![true; n_nodes];
        let mut left: Vec<u32> = (0..n_nodes as u32).filter(|node| n_targets[*node as usize] == 0).collect();
        let mut n_left = n_nodes;
        while let Some(node) = left.pop() {
            let node = node as usize;
            leads_back[node] = false;
            n_left -= 1;
            for source in &sources[starts[node] as usize..starts[node + 1] as usize] {
                n_targets[*source as usize] -= 1;
                if n_targets[*source as usize] == 0 {
                    left.push(*source);
                }
            }
        }
        if n_left == 0 { Vec::new() } else { leads_back }
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[test]
    fn what_leads_to_a_circle_is_found() {
        for (edges, expected) in [
            ("", ""),
            ("ab bc ac", ""),
            ("ab bc ca", "abc"),
            ("ab bc cd db de", "abcd"),
            ("aa ab", "a"),
            ("ab ac bd cd de", ""),
            ("ab cd dc", "cd"),
        ] {
            let letters = |edge: &str| edge.bytes().map(u128::from).collect::<Vec<_>>();
            let ends = edges.split_whitespace().map(|edge| (letters(edge)[0], letters(edge)[1]));
            let graph = Graph::new(ends.collect());
            let found =
                graph.that_lead_back().into_iter().zip(&graph.ids).filter(|(leads_back, _)| *leads_back);
            let found: String = found.map(|(_, id)| *id as u8 as char).collect();
            assert_eq!(found, expected, "{edges}");
        }
    }
}
