//! The lines of an archive, between text and values.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::archive::{Column, ColumnKind, Row, TABLES, Table, Value};
use domain::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use uuid::Uuid;

/// The archive format that this version writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// The names of tables in older archives, with their present names.
const RENAMED: [(&str, &str); 2] = [("erasures", "deletion_jobs"), ("first_answers", "idempotency_records")];

/// The migration that renamed them.
const RENAMED_BY: &str = "20261124000500";

/// The number of rows of each table.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The first line.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Header {
    /// `archive`.
    pub(crate) parlance: String,
    /// [`FORMAT`].
    pub(crate) format: u32,
    /// The version of the program.
    pub(crate) program: String,
    /// When it was written.
    pub(crate) at: String,
    /// The migrations that were applied to the store.
    pub(crate) steps: Vec<String>,
    /// The columns of each table.
    #[serde(deserialize_with = "by_present_name")]
    pub(crate) columns: BTreeMap<String, Vec<String>>,
    /// The number of rows that follow.
    #[serde(deserialize_with = "by_present_name")]
    pub(crate) rows: Counts,
}

/// The last line.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    /// The number of rows.
    #[serde(deserialize_with = "by_present_name")]
    pub(crate) rows: Counts,
    /// SHA-256 of their lines, in hexadecimal.
    pub(crate) sha256: String,
    /// SHA-256 of the first line; older versions have not written it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header_sha256: Option<String>,
}

/// A line after the first one.
#[derive(Debug)]
pub(crate) enum Line {
    /// A row.
    Row(&'static Table, Row),
    /// The last one.
    End(End),
}

/// The columns of every table in this version.
pub(crate) fn columns() -> BTreeMap<String, Vec<String>> {
    let named = |table: &Table| table.columns.iter().map(|column| column.name.to_owned()).collect();
    TABLES.iter().map(|table| (table.name.to_owned(), named(table))).collect()
}

/// The present name of a table of an archive.
fn present_name(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

fn by_present_name<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    of_tables: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let of_tables = BTreeMap::<String, T>::deserialize(of_tables)?;
    Ok(of_tables.into_iter().map(|(name, it)| (present_name(&name).to_owned(), it)).collect())
}

impl Header {
    /// Returns whether the archive uses the former names of tables.
    pub(crate) fn has_former_names(&self) -> bool {
        !self.steps.iter().any(|step| step == RENAMED_BY)
    }

    /// Parses the first line, if this version can read the archive.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Whatever {
            parlance: String,
            format: u32,
            program: String,
        }
        let whatever = serde_json::from_slice::<Whatever>(line).ok().filter(|it| it.parlance == "archive");
        let Some(whatever) = whatever else { return Err("this is not an archive of Parlance".to_owned()) };
        let program = whatever.program;
        if whatever.format != FORMAT {
            return Err(format!(
                "the archive has the format {}, and this version reads {FORMAT}. Use parlance {program}, which \
                 wrote it, or a newer one",
                whatever.format
            ));
        }
        let header =
            serde_json::from_slice::<Self>(line).map_err(|fault| format!("its first line: {fault}"))?;
        match difference(&header.columns, &columns()) {
            None => Ok(header),
            Some(difference) => Err(format!(
                "the archive was written by parlance {program}, where {difference}. Import it with that version, \
                 and bring the store up to date with this one"
            )),
        }
    }
}

/// The first difference between the columns of an archive and ours.
fn difference(
    theirs: &BTreeMap<String, Vec<String>>,
    ours: &BTreeMap<String, Vec<String>>,
) -> Option<String> {
    let names = theirs.keys().chain(ours.keys());
    let mut names = names.filter(|name| theirs.get(*name) != ours.get(*name));
    names.next().map(|name| match (theirs.get(name), ours.get(name)) {
        (Some(_), None) => format!("there is a table {name} that this version does not know"),
        (None, _) => format!("there is no table {name}"),
        (Some(theirs), Some(_)) => format!("the table {name} has the columns {}", theirs.join(", ")),
    })
}

/// The former name of a table.
pub(crate) fn former_name(name: &str) -> &str {
    RENAMED.iter().find(|(_, new)| *new == name).map_or(name, |(old, _)| old)
}

/// Appends the line of a row of the table, under this name.
pub(crate) fn write_row(out: &mut Vec<u8>, name: &str, table: &Table, row: &[Value]) {
    out.extend_from_slice(b"{\"t\":");
    write_json(out, &Json::from(name));
    for (index, (column, value)) in table.columns.iter().zip(row).enumerate() {
        out.extend_from_slice(if index == 0 { b",\"r\":{" } else { b"," });
        write_json(out, &Json::from(column.name));
        out.push(b':');
        write_json(out, &to_json(value));
    }
    out.extend_from_slice(b"}}\n");
}

fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value)
        .expect("texts and numbers can be written as JSON, and memory takes them");
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Id(id) => id.to_string().into(),
        Value::Instant(instant) => instant.micros().into(),
        Value::Integer(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(bytes) => STANDARD.encode(bytes).into(),
    }
}

/// The last line.
pub(crate) fn end_line(end: &End) -> Vec<u8> {
    let mut line = b"{\"end\":".to_vec();
    write_json(&mut line, end);
    line.extend_from_slice(b"}\n");
    line
}

impl Line {
    /// Returns whether it is the last line, judging by its beginning.
    pub(crate) fn is_end(line: &[u8]) -> bool {
        line.starts_with(b"{\"end\":")
    }

    /// Parses a line after the first one.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RowLine {
            t: String,
            r: serde_json::Map<String, Json>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct EndLine {
            end: End,
        }
        if Self::is_end(line) {
            let line = serde_json::from_slice::<EndLine>(line).map_err(|fault| fault.to_string())?;
            return Ok(Self::End(line.end));
        }
        let mut line = serde_json::from_slice::<RowLine>(line).map_err(|fault| fault.to_string())?;
        let table =
            Table::named(present_name(&line.t)).ok_or_else(|| format!("there is no table {}", line.t))?;
        let row = table.columns.iter().map(|column| {
            let value = line.r.remove(column.name);
            let value = value.ok_or_else(|| format!("{}.{} is missing", table.name, column.name))?;
            from_json(column, value).ok_or_else(|| format!("{}.{} is wrong", table.name, column.name))
        });
        let row = row.collect::<Result<Row, _>>()?;
        match line.r.keys().next() {
            None => Ok(Self::Row(table, row)),
            Some(more) => Err(format!("there is no column {}.{more}", table.name)),
        }
    }
}

/// The value of a column, if it has the right type.
fn from_json(column: &Column, json: Json) -> Option<Value> {
    Some(match (column.kind, json) {
        (_, Json::Null) if column.is_optional => Value::Null,
        (ColumnKind::Id | ColumnKind::IdOrNil, Json::String(text)) => Value::Id(Uuid::try_parse(&text).ok()?),
        (ColumnKind::Instant, Json::Number(number)) => {
            let micros = number.as_i64()?;
            let instant = Timestamp::from_micros(micros);
            Value::Instant(Some(instant).filter(|instant| instant.micros() == micros)?)
        }
        (ColumnKind::Integer, Json::Number(number)) => Value::Integer(number.as_i64()?),
        (ColumnKind::Flag, Json::Bool(flag)) => Value::Flag(flag),
        (ColumnKind::Text, Json::String(text)) => Value::Text(text),
        (ColumnKind::Bytes, Json::String(text)) => Value::Bytes(STANDARD.decode(text).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
