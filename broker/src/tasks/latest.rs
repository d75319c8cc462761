//! Merge of sorted walks, latest first.

use std::iter;

/// Merges walks that are each sorted, latest first. A step costs the number of walks, however long they are.
pub(super) fn latest<K: Ord + Copy, T>(
    walks: impl IntoIterator<Item = impl Iterator<Item = (K, T)>>,
) -> impl Iterator<Item = (K, T)> {
    let mut walks: Vec<_> = walks.into_iter().map(Iterator::peekable).collect();
    iter::from_fn(move || {
        let begun = walks
            .iter_mut()
            .filter_map(|walk| Some((walk.peek()?.0, walk)));
        let (_, next) = begun.max_by_key(|(key, _)| *key)?;
        next.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sorted_apart_is_sorted_together() {
        let walk = |keys: &'static [u32]| keys.iter().map(|key| (*key, ()));
        let merged = latest([walk(&[9, 4, 1]), walk(&[]), walk(&[8, 3]), walk(&[5])]);
        let keys: Vec<u32> = merged.map(|(key, ())| key).collect();
        assert_eq!(keys, [9, 8, 5, 4, 3, 1]);
    }
}
