//! Rows under ascending numbers: added at the end, removed at the front. Stored in blocks, so that growing moves no
//! rows.

use std::collections::VecDeque;

/// Rows per block.
const BLOCK: u64 = 1024;

/// The rows, see the module.
#[derive(Debug)]
pub(super) struct Rows<T> {
    /// Number of the first row, or of the next one if there is none.
    first: u64,
    next: u64,
    blocks: VecDeque<Vec<Option<T>>>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            first: 0,
            next: 0,
            blocks: VecDeque::new(),
        }
    }
}

impl<T> Rows<T> {
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.next - self.first).expect("they are in memory")
    }

    /// Number of the first row.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next row.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        let (block, index) = self.place(number)?;
        self.blocks.get(block)?.get(index)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let (block, index) = self.place(number)?;
        self.blocks.get_mut(block)?.get_mut(index)?.as_mut()
    }

    pub(super) fn push(&mut self, row: T) -> u64 {
        let number = self.next;
        if number.is_multiple_of(BLOCK) || self.blocks.is_empty() {
            self.blocks.push_back(Vec::with_capacity(BLOCK as usize));
        }
        let block = self.blocks.back_mut().expect("one was added");
        block.push(Some(row));
        self.next += 1;
        number
    }

    pub(super) fn pop_front(&mut self) -> Option<T> {
        let (block, index) = self.place(self.first)?;
        let row = self.blocks.get_mut(block)?.get_mut(index)?.take();
        self.first += 1;
        if self.first.is_multiple_of(BLOCK) {
            self.blocks.pop_front();
        }
        row
    }

    /// Number of the first row for which the predicate is false.
    pub(super) fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> u64 {
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).is_some_and(&is_before) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn place(&self, number: u64) -> Option<(usize, usize)> {
        if number < self.first || number >= self.next {
            return None;
        }
        let block = number / BLOCK - self.first / BLOCK;
        let index = number % BLOCK;
        Some((usize::try_from(block).ok()?, usize::try_from(index).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_numbers() {
        let mut rows = Rows::default();
        for n in 0..5_000_u64 {
            assert_eq!(rows.push(n), n);
            if n % 2 == 1 {
                assert_eq!(rows.pop_front(), Some(n / 2));
            }
        }
        assert_eq!(
            (rows.first(), rows.next(), rows.len()),
            (2_500, 5_000, 2_500)
        );
        assert_eq!(rows.get(2_499), None);
        assert!((2_500..5_000).all(|n| rows.get(n) == Some(&n)));
        assert_eq!(rows.get(5_000), None);
        assert_eq!(rows.partition_point(|n| *n < 3_333), 3_333);
        assert!(rows.blocks.len() <= 4, "what has left takes no room");
        while rows.pop_front().is_some() {}
        assert_eq!(rows.push(9), 5_000);
        assert_eq!(rows.get(5_000), Some(&9));
    }
}
