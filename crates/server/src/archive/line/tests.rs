use super::*;

/// A row with something in every column; `number` is in all of its integers.
fn row_of(table: &Table, number: i64) -> Row {
    let value = |column: &Column| match column.kind {
        ColumnKind::Id => Value::Id(Uuid::from_u128(number.unsigned_abs().into())),
        ColumnKind::IdOrNil => Value::Id(Uuid::nil()),
        ColumnKind::Instant => Value::Instant(Timestamp::from_micros(number)),
        ColumnKind::Integer => Value::Integer(number),
        ColumnKind::Flag => Value::Flag(number > 0),
        ColumnKind::Text => Value::Text(format!("\0 \"{number}\" \u{1F600}\r\n\u{2028}")),
        ColumnKind::Bytes => Value::Bytes(number.to_be_bytes().to_vec()),
    };
    table.columns.iter().map(value).collect()
}

fn header() -> Json {
    serde_json::json!({
        "parlance": "archive", "format": FORMAT, "program": "0.1.0", "at": "2026-07-01T12:00:00.000000Z",
        "steps": [], "columns": columns(), "rows": {},
    })
}

fn parse_header(header: &Json) -> Result<Header, String> {
    Header::parse(header.to_string().as_bytes())
}

#[test]
fn every_value_is_read_as_it_was_written() {
    for table in &TABLES {
        // Beyond 53 bits, where a number of another reader would be rounded.
        for number in [0, 1, -1, 9_007_199_254_740_993, i64::MAX, i64::MIN] {
            let mut row = row_of(table, number);
            for emptied in [false, true] {
                for (column, value) in table.columns.iter().zip(&mut row) {
                    if emptied && column.is_optional {
                        *value = Value::Null;
                    }
                }
                let mut line = Vec::new();
                write_row(&mut line, table.name, table, &row);
                assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1), "one line");
                let Line::Row(read_of, read) = Line::parse(&line).unwrap() else { panic!("{line:?}") };
                assert_eq!((read_of.name, read), (table.name, row.clone()));
            }
        }
    }
    let end =
        End { rows: Counts::from([("users".to_owned(), 3)]), sha256: "ab".to_owned(), header_sha256: None };
    assert!(matches!(Line::parse(&end_line(&end)), Ok(Line::End(read)) if read == end));
}

#[test]
fn what_is_no_row_is_told_by_its_place() {
    let secret = r#"{"t":"secrets","r":{"name":"cursors","secret":"AAAA"}}"#;
    assert!(Line::parse(secret.as_bytes()).is_ok());
    for (from, to, expected) in [
        ("\"secrets\"", "\"secret\"", "no table secret"),
        ("\"name\"", "\"title\"", "secrets.name is missing"),
        ("\"cursors\"", "null", "secrets.name is wrong"),
        ("\"cursors\"", "1", "secrets.name is wrong"),
        ("AAAA", "AAA", "secrets.secret is wrong"),
        ("{\"name\"", "{\"more\":1,\"name\"", "no column secrets.more"),
        ("\"t\"", "\"x\":1,\"t\"", "x"),
        ("}}", "}", "EOF"),
    ] {
        let line = secret.replace(from, to);
        let fault = Line::parse(line.as_bytes()).unwrap_err();
        assert!(fault.contains(expected), "{line}: {fault}");
    }
    let deletion_job = |at: &str| {
        format!(r#"{{"t":"deletion_jobs","r":{{"agent_id":"{}","requested_at":{at}}}}}"#, Uuid::nil())
    };
    assert!(Line::parse(deletion_job("0").as_bytes()).is_ok());
    for at in ["1.5", "1e3", "9223372036854775808", "9223372036854775807", "\"0\"", "true"] {
        let fault = Line::parse(deletion_job(at).as_bytes()).unwrap_err();
        assert!(fault.contains("requested_at is wrong"), "{at}: {fault}");
    }
}

/// An archive from before tables got their present names: its first line, its rows, and its last line.
#[test]
fn archives_with_the_former_names_of_tables_are_read() {
    let mut old = header();
    for (former, present) in RENAMED {
        let columns = old["columns"].as_object_mut().unwrap();
        let of_table = columns.remove(present).unwrap();
        columns.insert(former.to_owned(), of_table);
        old["rows"][former] = 1.into();
        let table = Table::named(present).unwrap();
        assert!(Table::named(former).is_none());
        let mut line = Vec::new();
        write_row(&mut line, former_name(present), table, &row_of(table, 1));
        assert!(String::from_utf8(line.clone()).unwrap().contains(former));
        let Line::Row(read, row) = Line::parse(&line).unwrap() else { panic!("{line:?}") };
        assert_eq!((read.name, row), (present, row_of(table, 1)));
    }
    let present = RENAMED.map(|(_, present)| (present.to_owned(), 1)).into();
    assert_eq!(parse_header(&old).unwrap().rows, present);
    let end = serde_json::json!({"end": {"rows": old["rows"], "sha256": "ab"}}).to_string();
    let Line::End(end) = Line::parse(end.as_bytes()).unwrap() else { panic!("{end}") };
    assert_eq!(end.rows, present);
}

#[test]
fn only_archives_that_this_version_understands_are_taken() {
    assert!(parse_header(&header()).is_ok());
    let mut newer = header();
    newer["format"] = (FORMAT + 1).into();
    newer["rows"] = "what nobody knows yet".into();
    let fault = parse_header(&newer).unwrap_err();
    assert!(fault.contains("format 2") && fault.contains("newer"), "{fault}");
    let mut wider = header();
    wider["columns"]["users"].as_array_mut().unwrap().push("shoe_size".into());
    assert!(parse_header(&wider).unwrap_err().contains("shoe_size"));
    let mut more = header();
    more["columns"]["shoes"] = Json::Array(Vec::new());
    assert!(parse_header(&more).unwrap_err().contains("table shoes"));
    let mut fewer = header();
    fewer["columns"].as_object_mut().unwrap().remove("memories");
    assert!(parse_header(&fewer).unwrap_err().contains("no table memories"));
    for foreign in ["", "{}", "[]", "PGDMP", "{\"parlance\":\"settings\",\"format\":1,\"program\":\"1\"}"] {
        assert!(Header::parse(foreign.as_bytes()).unwrap_err().contains("not an archive"), "{foreign}");
    }
}
