//! A few statistics of pairs of numbers. Sums are of parts, so that large numbers do not overflow.

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    values.iter().map(|value| value / count).sum()
}

/// Spearman's rank correlation, with equal values sharing their mean rank; `None` where all of one side are equal.
pub(super) fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    correlation(&ranks(&x), &ranks(&y))
}

/// The 95 % interval of a rank correlation over `count` pairs (Fieller, Hartley and Pearson 1957); `None` for fewer than four.
pub(super) fn interval(correlation: f64, count: usize) -> Option<(f64, f64)> {
    let free = count.checked_sub(3).filter(|&free| free > 0)?;
    let error = (1.06 / free as f64).sqrt();
    let middle = correlation.clamp(-1.0, 1.0).atanh();
    Some((
        (middle - 1.96 * error).tanh(),
        (middle + 1.96 * error).tanh(),
    ))
}

/// The mean of the first side over the third of the pairs with the greatest second side, rounded up, and over the rest. There must be two
/// pairs at least.
pub(super) fn best_third_and_rest(pairs: &[(f64, f64)]) -> (f64, f64) {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.total_cmp(&b.0)));
    let first: Vec<f64> = sorted.iter().map(|pair| pair.0).collect();
    let (best, rest) = first.split_at(pairs.len().div_ceil(3));
    (mean(best), mean(rest))
}

/// From 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = start as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for &place in equal {
            ranks[place] = rank;
        }
        start += equal.len();
    }
    ranks
}

/// The correlation of ranks, whose mean follows from their number.
fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let middle = (x.len() as f64 + 1.0) / 2.0;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let both = x.iter().zip(y);
        both.map(|(&x, &y)| of(x - middle, y - middle)).sum()
    };
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (spread > 0.0).then(|| (sum(&|x, y| x * y) / spread).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn ranks_are_shared_by_equal_values() {
        assert_eq!(ranks(&[10.0, 20.0, 20.0, 5.0]), [2.0, 3.5, 3.5, 1.0]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    /// Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6·4 / (5·24) = 0.8.
    #[test]
    fn the_rank_correlation_is_that_of_the_books() {
        let pairs = [
            (1.0, 20.0),
            (2.0, 10.0),
            (3.0, 400.0),
            (4.0, 39.0),
            (5.0, 1e9),
        ];
        assert!(near(spearman(&pairs).expect("both sides vary"), 0.8));
        let falling: Vec<(f64, f64)> = (0..9).map(|n| (f64::from(n), f64::from(-n * n))).collect();
        assert!(near(spearman(&falling).expect("both sides vary"), -1.0));
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(spearman(&[]), None);
    }

    /// atanh 0.8 = 1.0986; 1.96·sqrt(1.06 / 17) = 0.4894; tanh 0.6092 = 0.5437, tanh 1.5880 = 0.9199.
    #[test]
    fn the_interval_narrows_with_the_number_of_pairs() {
        let (low, high) = interval(0.8, 20).expect("enough pairs");
        assert!(
            (low - 0.5437).abs() < 1e-3 && (high - 0.9199).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(interval(0.8, 3), None);
        let (low, high) = interval(1.0, 5).expect("enough pairs");
        assert_eq!((low, high), (1.0, 1.0));
    }

    #[test]
    fn the_best_third_is_rounded_up() {
        let pairs = [(0.9, 10.0), (0.7, 9.0), (0.1, 1.0), (0.3, 2.0)];
        let (best, rest) = best_third_and_rest(&pairs);
        assert!(near(best, 0.8) && near(rest, 0.2), "{best} {rest}");
    }

    proptest! {
        #[test]
        fn whatever_the_numbers_the_results_are_in_bounds(
            pairs in prop::collection::vec((-1e308f64..1e308, -1e308f64..1e308), 2..60),
        ) {
            if let Some(correlation) = spearman(&pairs) {
                prop_assert!((-1.0..=1.0).contains(&correlation));
                let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(x, y)| (y, x)).collect();
                prop_assert!(near(spearman(&swapped).expect("it is the same"), correlation));
            }
            let (best, rest) = best_third_and_rest(&pairs);
            prop_assert!(best.is_finite() && rest.is_finite());
        }

        #[test]
        fn the_interval_is_around_its_correlation(correlation in -1.0f64..=1.0, count in 4usize..10_000) {
            let (low, high) = interval(correlation, count).expect("enough pairs");
            prop_assert!(-1.0 <= low && low <= correlation + 1e-9);
            prop_assert!(correlation - 1e-9 <= high && high <= 1.0);
        }
    }
}
