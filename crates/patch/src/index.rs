//! A search for runs of lines, used only when a hunk is not where its header points.
//!
//! The old lines of the patch are numbered, and each line of the file gets the number of the old
//! line that it equals, so comparing lines means comparing integers. A hunk is then tried only
//! where its rarest line is. A budget bounds the rest of the cost.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::hunk::{Patch, old_lines};
use crate::lines::Lines;
use crate::spacing::Spacing;

/// The number of a file line that does not occur in the patch.
const FOREIGN: u32 = u32::MAX;

/// Lines that occur more often hardly show where a hunk was meant to be.
const MAX_OCCURRENCES: usize = 500;

/// How many lines of a hunk are looked up to find the most similar place.
const MAX_LOOKED_UP: usize = 100;

pub(crate) enum Nearest {
    None,
    One(usize),
    /// Two places at the same distance, the lower one first.
    Two(usize, usize),
    GaveUp,
}

#[derive(Debug)]
pub(crate) struct Index {
    /// The numbers of the old lines of all hunks, one after another.
    old_lines: Vec<u32>,
    /// The numbers of the file's lines, and of the blank after its final newline.
    file: Vec<u32>,
    /// The positions of each number in the file, in rising order.
    places: Vec<Vec<usize>>,
}

impl Index {
    /// Numbers the lines of `file` and `patch`. Lines that differ in the `spacing` that is ignored
    /// have one number.
    pub(crate) fn new(file: &Lines<'_>, patch: &Patch<'_>, spacing: Spacing) -> Self {
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut old = Vec::with_capacity(patch.lines.len());
        let mut with_replacement = false;
        for line in old_lines(&patch.lines) {
            let next = u32::try_from(numbers.len()).unwrap_or(FOREIGN);
            old.push(*numbers.entry(spacing.key(line.text.as_bytes())).or_insert(next));
            with_replacement |= line.text.contains(char::REPLACEMENT_CHARACTER);
        }
        let mut places = vec![Vec::new(); numbers.len()];
        let mut numbered = Vec::with_capacity(file.len() + 1);
        let lines = (0..file.len()).map(|at| file.get(at));
        let blank = file.terminated.then_some(None);
        for (at, line) in lines.chain(blank).enumerate() {
            let text = line.map_or(&b""[..], |line| line.text);
            let mut number = numbers.get(spacing.key(text)).copied();
            if number.is_none() && with_replacement {
                let decoded = String::from_utf8_lossy(text);
                number = numbers.get(spacing.key(decoded.as_bytes())).copied();
            }
            numbered.push(number.unwrap_or(FOREIGN));
            if let Some(occurrences) = number.and_then(|number| places.get_mut(number as usize)) {
                occurrences.push(at);
            }
        }
        Self { old_lines: old, file: numbered, places }
    }

    /// The numbers of `count` old lines from `first` on.
    pub(crate) fn old_lines(&self, first: usize, count: usize) -> &[u32] {
        &self.old_lines[first..first + count]
    }

    /// Finds the `run` that begins within `range` and nearest to `near`.
    pub(crate) fn nearest(
        &self,
        run: &[u32],
        range: RangeInclusive<usize>,
        near: usize,
        work: &mut usize,
    ) -> Nearest {
        let rarest = run.iter().enumerate().min_by_key(|(_, number)| self.places(**number).len());
        let Some((lead, &number)) = rarest else { return Nearest::None };
        let places = self.places(number);
        let from = places.partition_point(|&at| at < range.start().saturating_add(lead));
        let to = places.partition_point(|&at| at <= range.end().saturating_add(lead));
        let places = &places[from..to];
        let distance = |at: usize| (at - lead).abs_diff(near);
        let (before, after) = places.split_at(places.partition_point(|&at| at - lead < near));
        let mut before = before.iter().rev().copied().peekable();
        let mut after = after.iter().copied().peekable();
        loop {
            let (low, high) = (before.peek().copied(), after.peek().copied());
            let nearer = match (low.map(distance), high.map(distance)) {
                (None, None) => return Nearest::None,
                (low, high) => low.unwrap_or(usize::MAX).min(high.unwrap_or(usize::MAX)),
            };
            let low = before.next_if(|&at| distance(at) == nearer);
            let high = after.next_if(|&at| distance(at) == nearer);
            let low = low.map(|at| at - lead).filter(|&at| self.is_at(run, at, work));
            let high = high.map(|at| at - lead).filter(|&at| self.is_at(run, at, work));
            if *work == 0 {
                return Nearest::GaveUp;
            }
            match (low, high) {
                (Some(low), Some(high)) => return Nearest::Two(low, high),
                (Some(at), None) | (None, Some(at)) => return Nearest::One(at),
                (None, None) => {}
            }
        }
    }

    /// The place where the most lines of `run` match, or `near` if none does.
    pub(crate) fn most_similar(&self, run: &[u32], near: usize) -> usize {
        let mut votes: Vec<usize> = run
            .iter()
            .take(MAX_LOOKED_UP)
            .enumerate()
            .map(|(lead, &number)| (lead, self.places(number)))
            .filter(|(_, places)| places.len() <= MAX_OCCURRENCES)
            .flat_map(|(lead, places)| places.iter().filter_map(move |at| at.checked_sub(lead)))
            .collect();
        votes.sort_unstable();
        votes
            .chunk_by(|left, right| left == right)
            .filter_map(|chunk| chunk.first().map(|&at| (chunk.len(), at)))
            .max_by_key(|&(count, at)| (count, std::cmp::Reverse(at.abs_diff(near))))
            .map_or(near, |(_, at)| at)
    }

    fn places(&self, number: u32) -> &[usize] {
        self.places.get(number as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_at(&self, run: &[u32], at: usize, work: &mut usize) -> bool {
        let lines = self.file.get(at..at.saturating_add(run.len()));
        lines.is_some_and(|lines| {
            run.iter().zip(lines).all(|(left, right)| {
                *work = work.saturating_sub(1);
                left == right && *work > 0
            })
        })
    }
}
