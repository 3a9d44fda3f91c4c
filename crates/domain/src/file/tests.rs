use super::*;
use crate::id::{ChatId, FileId};
use crate::text::TextFault;
use crate::time::Timestamp;
use uuid::Uuid;

/// The type of bytes, however they are cut.
fn kind(bytes: &[u8]) -> ContentType {
    let scanned = |size: usize| {
        let mut scan = TypeScan::default();
        bytes.chunks(size.max(1)).for_each(|piece| scan.read(piece));
        scan.finish()
    };
    let whole = scanned(bytes.len());
    for size in 1..=bytes.len().min(16) {
        assert_eq!(scanned(size), whole, "{bytes:?} in pieces of {size}");
    }
    whole
}

#[test]
fn the_type_is_that_of_the_bytes() {
    for (bytes, expected) in [
        (&b"\x89PNG\r\n\x1a\n...."[..], ContentType::Png),
        (b"\xff\xd8\xff\xe0", ContentType::Jpeg),
        (b"GIF87a", ContentType::Gif),
        (b"GIF89a", ContentType::Gif),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", ContentType::Webp),
        (b"RIFF\x01\x02\x03\x04WAVEfmt ", ContentType::Wav),
        (b"RIFF\x01\x02\x03\x04AVI ", ContentType::Text),
        (b"%PDF-1.7", ContentType::Pdf),
        (b"PK\x03\x04", ContentType::Zip),
        (b"\x1f\x8b\x08", ContentType::Gzip),
        (b"\x00\x00\x00\x18ftypmp42", ContentType::Mp4),
        (b"OggS", ContentType::Ogg),
        (b"ID3\x04", ContentType::Mpeg),
        (b"\xff\xfb\x90", ContentType::Mpeg),
        (b"", ContentType::Text),
        (b"plain", ContentType::Text),
        (b"<!doctype html><script>alert(1)</script>", ContentType::Text),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", ContentType::Text),
        ("\u{feff}na\u{ef}ve \u{1f600}".as_bytes(), ContentType::Text),
        (b"a\0b", ContentType::Octets),
        (b"a long text with one stray byte \x80 in it", ContentType::Octets),
        (b"a text that ends within a character \xf0\x9f\x98", ContentType::Octets),
        (b"\xed\xa0\x80 a surrogate", ContentType::Octets),
    ] {
        assert_eq!(kind(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn a_name_is_one_part_of_a_path() {
    for (given, kept) in [
        (" notes.txt ", Ok("notes.txt")),
        ("a/b\\c", Ok("a_b_c")),
        ("../../etc/passwd", Ok(".._.._etc_passwd")),
        ("r\u{e9}sum\u{e9} \"final\".pdf", Ok("r\u{e9}sum\u{e9} \"final\".pdf")),
        ("100%20.txt", Ok("100%20.txt")),
        (" \t ", Err(TextFault::Blank)),
        ("a\nb", Err(TextFault::ControlCharacter)),
        ("a\u{7f}", Err(TextFault::ControlCharacter)),
        (
            "a\u{202e}gpj.exe",
            Err(TextFault::Malformed { expected: "must not contain text direction controls" }),
        ),
        ("a\u{2066}b", Err(TextFault::Malformed { expected: "must not contain text direction controls" })),
        ("a\u{85}b", Err(TextFault::ControlCharacter)),
    ] {
        assert_eq!(FileName::new(given).as_ref().map(FileName::as_str), kept.as_ref().copied(), "{given:?}");
    }
    assert!(FileName::new(&"\u{e9}".repeat(127)).is_ok() && FileName::new(&"x".repeat(255)).is_ok());
    assert!(FileName::new(&"x".repeat(256)).is_err() && FileName::new(&"\u{e9}".repeat(128)).is_err());
}

#[test]
fn a_digest_is_64_hexadecimal_digits() {
    let text = "0123456789abcdef".repeat(4);
    let digest = FileDigest::parse(&text).unwrap();
    assert_eq!(digest.to_string(), text);
    assert_eq!(FileDigest::parse(&text.to_uppercase()), Some(digest));
    for wrong in [&text[1..], &format!("{text}0"), &text.replace('0', "g"), &text.replace('0', "\u{e9}"), ""]
    {
        assert_eq!(FileDigest::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn one_span_of_bytes_is_read_and_everything_else_ignored() {
    let part = |start, length| Requested::Part(Span { start, length });
    for (range, expected) in [
        ("bytes=0-0", part(0, 1)),
        ("bytes=5-", part(5, 5)),
        ("bytes=-5", part(5, 5)),
        ("bytes=-50", part(0, 10)),
        ("bytes=0-999999", part(0, 10)),
        ("bytes=9-99999999999999999999999999", part(9, 1)),
        ("Bytes = 2 - 3", part(2, 2)),
        ("bytes=10-", Requested::Beyond),
        ("bytes=99999999999999999999999999-", Requested::Beyond),
        ("bytes=-0", Requested::Beyond),
        ("abc", Requested::Whole),
        ("bytes=abc", Requested::Whole),
        ("bytes=-", Requested::Whole),
        ("bytes=5-2", Requested::Whole),
        ("bytes=20-12", Requested::Whole),
        ("bytes=0-1,3-4", Requested::Whole),
        ("bytes=+1-2", Requested::Whole),
        ("lines=1-2", Requested::Whole),
    ] {
        assert_eq!(Requested::parse(Some(range), 10), expected, "{range}");
    }
    assert_eq!(Requested::parse(None, 10), Requested::Whole);
    assert_eq!(Requested::parse(Some("bytes=0-"), 0), Requested::Beyond);
    assert_eq!(Requested::parse(Some("bytes=-1"), 0), Requested::Beyond);
}

#[test]
fn limits_are_those_of_the_chat_and_of_the_organization() {
    let chat = ChatId::new(Uuid::from_u128(1));
    let stored = StoredBytes { chat: 60, organization: 90, has_same: false };
    for (of_chat, of_organization, more, reached) in [
        (None, None, u64::MAX, None),
        (Some(100), None, 40, None),
        (Some(100), None, 41, Some((100, 60, Some(chat)))),
        (None, Some(100), 10, None),
        (None, Some(100), 11, Some((100, 90, None))),
        (Some(100), Some(100), 50, Some((100, 60, Some(chat)))),
        (Some(50), None, 0, Some((50, 60, Some(chat)))),
    ] {
        let limits =
            FileLimits { chat_bytes: of_chat, organization_bytes: of_organization, ..FileLimits::DEFAULT };
        let full = reached.map(|(limit, current, chat)| FilesFull { limit, current, chat });
        assert_eq!(stored.check(chat, more, &limits).err(), full, "{of_chat:?} {of_organization:?} {more}");
    }
}

#[test]
fn a_file_is_found_until_it_expires() {
    let at = Timestamp::from_micros;
    let file = |expires_at| File {
        id: FileId::new(Uuid::from_u128(1)),
        name: "a".to_owned(),
        content_type: ContentType::Text,
        bytes: 1,
        digest: FileDigest::new([0; 32]),
        expires_at,
    };
    assert!(file(None).is_live(at(i64::MAX)) && file(Some(at(10))).is_live(at(9)));
    assert!(!file(Some(at(10))).is_live(at(10)));
}
