//! Reads a file of environment variables, such as an `EnvironmentFile` of systemd: one assignment per line,
//! comments, and quoted values.

/// Returns the assignments with their line numbers; for an invalid line, an error message.
pub(super) fn variables(text: &str) -> impl Iterator<Item = (usize, Result<(&str, String), &'static str>)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']));
    lines.map(|(number, line)| (number, assignment(line)))
}

fn assignment(line: &str) -> Result<(&str, String), &'static str> {
    let (name, value) = line.split_once('=').ok_or("is no NAME=value")?;
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let name = name.trim();
    if name.is_empty() || !is_name(name) {
        return Err("is no NAME=value");
    }
    let value = value.trim();
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote).map(|value| (name, value)),
        _ => Ok((name, unescaped(value))),
    }
}

/// Returns the text before the closing quote. Nothing may follow the quote.
fn quoted(rest: &str, quote: char) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quote == '"' => value.extend(letters.next()),
            letter if letter == quote => {
                return if letters.as_str().is_empty() {
                    Ok(value)
                } else {
                    Err("goes on behind its quotes")
                };
            }
            letter => value.push(letter),
        }
    }
    Err("has no closing quote")
}

fn unescaped(value: &str) -> String {
    let mut plain = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            plain.extend(letters.next());
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_systemd_reads_them() {
        let text = "# comment\n; comment\n\nA=1\n B = two words \nC=\"a \\\"b\\\"\"\nD='x\\y'\nE=\nF=a\\ b\n\
                    G=\"open\nnothing\nH='x' y\n=1\n";
        let read = variables(text).map(|(line, variable)| match variable {
            Ok((name, value)) => format!("{line}:{name}={value}"),
            Err(problem) => format!("{line}: {problem}"),
        });
        assert_eq!(
            read.collect::<Vec<_>>(),
            [
                "4:A=1",
                "5:B=two words",
                "6:C=a \"b\"",
                "7:D=x\\y",
                "8:E=",
                "9:F=a b",
                "10: has no closing quote",
                "11: is no NAME=value",
                "12: goes on behind its quotes",
                "13: is no NAME=value",
            ]
        );
    }
}
