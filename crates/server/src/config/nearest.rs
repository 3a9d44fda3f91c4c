//! What somebody may have meant who wrote a name that is not known.

/// The known name that is a slip of the pen away from `name`, if there is one.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips = (name.len() / 3).clamp(1, 3);
    let distances = known.iter().map(|known| (distance(name, known), *known));
    distances.filter(|(distance, _)| *distance <= slips).min().map(|(_, known)| known)
}

/// How many bytes must be put in, taken out or changed to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut above = (0..=other.len()).collect::<Vec<_>>();
    for (row, left) in one.bytes().enumerate() {
        let mut diagonal = above[0];
        above[0] = row + 1;
        for (column, right) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = above[column + 1];
            above[column + 1] = changed.min(above[column] + 1).min(diagonal + 1);
        }
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_found() {
        let known = ["listen", "data_dir", "database_url"];
        for (name, meant) in [("lisen", "listen"), ("data_dri", "data_dir"), ("databaseurl", "database_url")]
        {
            assert_eq!(nearest(name, &known), Some(meant));
        }
        for name in ["", "server", "x"] {
            assert_eq!(nearest(name, &known), None, "{name}");
        }
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("a", "a")), (3, 3, 0));
    }
}
