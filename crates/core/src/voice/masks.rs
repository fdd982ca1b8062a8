//! What a reader is told of masked secrets.

use toolwright_mask::Counts;

/// The most names in one sentence.
const MAX_NAMES: usize = 5;

/// Says which names stand for secrets. `None`: nothing was masked.
#[must_use]
pub fn note(counts: &Counts) -> Option<String> {
    let first: Vec<String> =
        counts.list().iter().take(MAX_NAMES).map(|(name, _)| format!("[{name}]")).collect();
    let (more, total) = (counts.list().len() - first.len(), counts.total());
    let places = if total == 1 { "1 place".to_owned() } else { format!("{total} places") };
    let named = first.join(", ");
    Some(match (first.len(), more) {
        (0, _) => return None,
        (1, 0) => format!("{named} stands for a secret that is masked here, in {places}."),
        (_, 0) => format!("{named} stand for secrets that are masked here, in {places}."),
        _ => {
            format!("{named} and {more} more stand for secrets that are masked here, in {places}.")
        }
    })
}

#[cfg(test)]
mod tests {
    use toolwright_mask::{Mask, Secret};

    use super::*;

    fn noted(text: &str) -> Option<String> {
        let secrets: Vec<_> = (0..9)
            .map(|index| Secret::given(&format!("S{index}"), format!("a-value-{index}").as_bytes()))
            .collect();
        let mut counts = Counts::default();
        let _ = Mask::new(&secrets, false)?.masked(text.as_bytes(), &mut counts);
        note(&counts)
    }

    #[test]
    fn the_names_and_the_places_are_told() {
        assert_eq!(noted("nothing"), None);
        let told = |text: &str| noted(text).unwrap_or_default();
        assert_eq!(told("a-value-1"), "[S1] stands for a secret that is masked here, in 1 place.");
        let two = "[S1], [S2] stand for secrets that are masked here, in 3 places.";
        assert_eq!(told("a-value-1 a-value-2 a-value-1"), two);
        let many: Vec<String> = (0..8).map(|index| format!("a-value-{index}")).collect();
        assert!(told(&many.join(" ")).contains("[S4] and 3 more stand"));
    }
}
