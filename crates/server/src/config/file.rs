//! The configuration file: TOML, split into entries with their line numbers.

use toml::de::{DeTable, DeValue};

use super::key::Form;

/// A key of the file with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The name, with those of the tables that contain it, such as `plans.free.agents`.
    pub(super) path: String,
    /// The value, as it would be given as a flag.
    pub(super) text: String,
    /// How the value is written.
    pub(super) form: Form,
    /// The line number.
    pub(super) line: usize,
    /// Whether this is a table; its entries follow.
    pub(super) table: bool,
}

/// A syntax error with its line number.
pub(super) type Fault = (usize, String);

/// Returns all entries of the file in its order, tables before their content, and all syntax errors.
pub(super) fn entries(text: &str) -> (Vec<Entry>, Vec<Fault>) {
    let (document, faults) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    take_apart(text, "", document.get_ref(), &mut found);
    // A table is read in the order of its names.
    found.sort_by_key(|entry| entry.line);
    let faults = faults.iter().map(|fault| {
        let at = fault.span().map_or(0, |span| span.start);
        (line_of(text, at), fault.message().replace('\n', " "))
    });
    (found, faults.collect())
}

fn take_apart(text: &str, inside: &str, table: &DeTable<'_>, found: &mut Vec<Entry>) {
    for (name, value) in table {
        let path = format!("{inside}{}", name.get_ref());
        let line = line_of(text, name.span().start);
        let (written, form) = scalar(value.get_ref());
        let inner = value.get_ref().as_table();
        found.push(Entry { path: path.clone(), text: written, form, line, table: inner.is_some() });
        if let Some(inner) = inner {
            take_apart(text, &format!("{path}."), inner, found);
        }
    }
}

/// Returns a value as it would be given as a flag, and how it is written.
fn scalar(value: &DeValue<'_>) -> (String, Form) {
    let other = || (String::new(), Form::Other);
    match value {
        DeValue::String(text) => (text.to_string(), Form::Text),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => (number.to_string(), Form::Number),
            Err(_) => other(),
        },
        DeValue::Boolean(switch) => (switch.to_string(), Form::Switch),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str()).collect::<Option<Vec<_>>>();
            texts.map_or_else(other, |texts| (texts.join(","), Form::List))
        }
        DeValue::Float(number) => (number.as_str().to_owned(), Form::Number),
        DeValue::Datetime(_) | DeValue::Table(_) => other(),
    }
}

/// The number of the line that contains the byte; the first line is 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_names_and_lines() {
        let text =
            "listen = 'x'\n\nnumber = 0x10\non = true\nmany = ['a', \"b\"]\n[plans.free]\nagents = 2\n";
        let (entries, faults) = entries(text);
        assert!(faults.is_empty());
        let mut said = entries
            .iter()
            .map(|entry| format!("{}:{}={} {:?}", entry.line, entry.path, entry.text, entry.form))
            .collect::<Vec<_>>();
        said.sort();
        assert_eq!(
            said,
            [
                "1:listen=x Text",
                "3:number=16 Number",
                "4:on=true Switch",
                "5:many=a,b List",
                "6:plans.free= Other",
                "6:plans= Other",
                "7:plans.free.agents=2 Number",
            ]
        );
    }

    #[test]
    fn a_fault_of_the_form_has_its_line() {
        let (entries, faults) = entries("listen = 'x'\ndata_dir = \nlog = 'info'\n");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].0, 2);
        assert!(entries.iter().any(|entry| entry.path == "log"), "the rest is read");
    }
}
