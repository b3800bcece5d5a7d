//! What follows from requests that were let in and one that was not. Times in seconds.

/// The rate at which a bucket that saves up calls of `burst` seconds would have refused just the request that came at
/// `refused`, after those that came at `accepted`.
///
/// A window of one second is such a bucket of one second, from where it is full.
pub fn refusing_rate(accepted: &[f64], refused: f64, burst: f64) -> f64 {
    let later = accepted.len();
    accepted.iter().enumerate().map(|(i, at)| (later - i) as f64 / (refused - at + burst)).fold(0.0, f64::max)
}

/// The rate that requests which were all let in prove, even if calls of a second were saved up before.
pub fn proven_rate(accepted: &[f64]) -> f64 {
    let Some((last, before)) = accepted.split_last() else { return 0.0 };
    refusing_rate(before, *last, 1.0)
}

/// How long requests at `candidate` must go through until a bucket that refills at `rate` cannot have let them all in.
pub fn soak_seconds(candidate: f64, rate: f64, burst: f64) -> Option<f64> {
    (rate < candidate).then(|| (rate * burst + 1.0) / (candidate - rate))
}

/// Whether so many requests within `seconds` are more than a bucket that refills at `rate` lets in.
pub fn contradicts(accepted: usize, seconds: f64, rate: f64, burst: f64) -> bool {
    accepted as f64 > rate * (seconds + burst) + 1.0
}

/// With 95 % certainty no larger share is refused, after so many that were not.
pub fn upper_bound(without_refusal: usize) -> f64 {
    if without_refusal == 0 { 1.0 } else { 1.0 - 0.05_f64.powf(1.0 / without_refusal as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evenly(rate: f64, from: f64, count: usize) -> Vec<f64> {
        (0..count).map(|i| from + i as f64 / rate).collect()
    }

    #[test]
    fn a_bucket_is_found_by_the_request_it_refuses() {
        // 40 a second, 40 saved up: 50 a second empty it after four seconds.
        let accepted = evenly(50.0, 0.0, 200);
        let rate = refusing_rate(&accepted, 4.0, 1.0);
        assert!((rate - 40.0).abs() < 0.1, "{rate}");
        // Without any saved up, the last gap alone says it.
        let rate = refusing_rate(&evenly(35.0, 0.0, 70), 69.0 / 35.0 + 0.02, 0.0);
        assert!((rate - 50.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn a_bucket_is_ruled_out_by_the_time_it_would_have_been_empty() {
        let seconds = soak_seconds(30.0, 20.0, 1.0).unwrap();
        assert!((seconds - 2.1).abs() < 1e-9);
        assert!(!contradicts((30.0 * 2.0) as usize, 2.0, 20.0, 1.0));
        assert!(contradicts((30.0 * 2.2) as usize, 2.2, 20.0, 1.0));
        assert_eq!(soak_seconds(30.0, 30.0, 1.0), None);
    }

    #[test]
    fn what_went_through_proves_less_than_its_rate() {
        let rate = proven_rate(&evenly(40.0, 0.0, 281));
        assert!((rate - 35.0).abs() < 0.1, "280 calls in 7 s, of which a second's worth may have been saved up: {rate}");
        assert_eq!(proven_rate(&[]), 0.0);
        assert!((upper_bound(134) - 0.022).abs() < 0.001);
    }
}
