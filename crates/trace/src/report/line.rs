//! The lines of a specification, split where their annotations change.

use std::sync::Arc;

use crate::link::CitedPiece;
use crate::specification::Specification;
use crate::text::Span;

/// References by the lines that they touch, read line after line. Copies share what is sorted.
#[derive(Clone)]
pub struct LineCursor<'a> {
    specification: &'a Specification,
    references: &'a [CitedPiece],
    /// Pairs of line and index of a reference, in order.
    by_line: Arc<[(u32, u32)]>,
    /// The last requested line.
    line: u32,
    /// Where it starts among the pairs.
    position: usize,
    /// Those of the line.
    of_line: Vec<&'a CitedPiece>,
    /// Those of a piece.
    of_piece: Vec<&'a CitedPiece>,
}

impl<'a> LineCursor<'a> {
    /// Sorts references by line.
    pub fn new(specification: &'a Specification, references: &'a [CitedPiece]) -> LineCursor<'a> {
        let mut unordered = Vec::with_capacity(references.len());
        for (index, reference) in references.iter().enumerate() {
            let (first, last) = specification.lines.lines(reference.span);
            unordered.extend((first..=last).map(|line| (line, index as u32)));
        }
        // The number of references is known for each line, so sorting takes two passes.
        let mut starts = vec![0_u32; specification.lines.count() + 2];
        unordered.iter().for_each(|(line, _)| starts[*line as usize + 1] += 1);
        for line in 1..starts.len() {
            starts[line] += starts[line - 1];
        }
        let mut by_line = vec![(0, 0); unordered.len()];
        for (line, index) in unordered {
            let start = &mut starts[line as usize];
            by_line[*start as usize] = (line, index);
            *start += 1;
        }
        let (of_line, of_piece) = (Vec::new(), Vec::new());
        LineCursor {
            specification,
            references,
            by_line: by_line.into(),
            line: 1,
            position: 0,
            of_line,
            of_piece,
        }
    }

    /// Moves to a line. Returns whether it has references.
    pub fn go(&mut self, line: Span) -> bool {
        // Lines are nearly always requested in order.
        let number = self.specification.lines.line_near(line.start, self.line);
        self.line = number;
        let next = |position: usize| self.by_line.get(position).map(|(line, _)| *line);
        if self.position > 0 && next(self.position - 1).is_some_and(|before| before >= number) {
            self.position = self.by_line.partition_point(|(line, _)| *line < number);
        }
        while next(self.position).is_some_and(|line| line < number) {
            self.position += 1;
        }
        let of_line = self.by_line[self.position..].iter().take_while(|(line, _)| *line == number);
        self.of_line.clear();
        self.of_line.extend(of_line.map(|(_, index)| &self.references[*index as usize]));
        !self.of_line.is_empty()
    }

    /// Splits the line where references to it start or end, with the references of each piece.
    pub fn each_piece<E>(
        &mut self,
        line: Span,
        mut each: impl FnMut(Span, &[&'a CitedPiece]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = line.start;
        while start < line.end {
            let mut end = line.end;
            self.of_piece.clear();
            for reference in &self.of_line {
                if reference.span.start > start {
                    end = end.min(reference.span.start);
                } else if start < reference.span.end {
                    end = end.min(reference.span.end);
                    self.of_piece.push(reference);
                }
            }
            each(Span { start, end }, &self.of_piece)?;
            start = end;
        }
        Ok(())
    }
}
