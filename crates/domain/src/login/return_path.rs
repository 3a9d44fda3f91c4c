//! Where a browser goes after a log-in at a provider: a path of the console, and never another site.

/// The maximum length of a path.
const MAX_BYTES: usize = 1024;

/// A path below the console, with its query, such as `/rooms/…?at=…`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReturnPath(String);

impl Default for ReturnPath {
    /// The first page.
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl ReturnPath {
    /// Checks a path that a client sent; `None` if it could lead out of the console.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/?&=%+:,@!*".contains(&byte);
        let path = text.split('?').next().unwrap_or(text);
        let is_step = |part: &str| matches!(&*part.to_ascii_lowercase().replace("%2e", "."), "." | "..");
        let is_local = text.len() <= MAX_BYTES
            && text.starts_with('/')
            && !text.starts_with("//")
            && text.bytes().all(is_plain)
            && !path.split('/').any(is_step);
        is_local.then(|| Self(text.to_owned()))
    }

    /// The path, which begins with a slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_console_are_returned_to() {
        for good in ["/", "/rooms/0190?at=7", "/search?q=a%20b+c&in=x:y", "/agents", "/a.b/..c"] {
            assert_eq!(ReturnPath::new(good).unwrap().as_str(), good);
        }
        let long = format!("/{}", "x".repeat(MAX_BYTES));
        for bad in [
            "",
            "rooms",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "/../api",
            "/rooms/../../x",
            "/rooms/%2e%2e/x",
            "/rooms/.%2E",
            "/.",
            "/a\r\nSet-Cookie: x",
            "/a\tb",
            "/a b",
            "/a#b",
            "/ä",
            " /a",
            &long,
        ] {
            assert_eq!(ReturnPath::new(bad), None, "{bad:?}");
        }
    }
}
