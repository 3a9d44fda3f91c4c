//! Names of buckets.

use std::fmt;

/// The name of a bucket of an S3-compatible service, and a prefix of all names in it: `s3://NAME/PREFIX`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BucketName {
    name: String,
    prefix: String,
}

impl BucketName {
    /// Parses `s3://NAME` or `s3://NAME/PREFIX`.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("s3://")?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
        let is_of_a_prefix = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_segment =
            |segment: &str| segment.chars().all(is_of_a_prefix) && segment.chars().any(|c| c != '.');
        let is_name = (3..=63).contains(&name.len()) && name.chars().all(is_of_a_name);
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_prefix = prefix.is_empty() || prefix.split('/').all(is_segment);
        (is_name && is_prefix).then(|| Self { name: name.to_owned(), prefix: prefix.to_owned() })
    }

    /// The name of the bucket.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prefix, without a slash at either end; may be empty.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.name)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_buckets_are_parsed() {
        for name in ["s3://files", "s3://my-files.example/parlance/One"] {
            assert_eq!(BucketName::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(BucketName::parse("s3://files/").unwrap().to_string(), "s3://files");
        for wrong in [
            "",
            "files",
            "s3://",
            "s3://ab",
            "s3://a b c",
            "s3://Files",
            "s3://u:p@files",
            "s3://files//x",
            "https://files",
            "s3://files/../x",
            "s3://files/x/.",
            "s3://files/a?b",
        ] {
            assert_eq!(BucketName::parse(wrong), None, "{wrong}");
        }
    }
}
