//! The content type of a file, found from its bytes. What the uploader says and how the name ends is ignored: nothing
//! stored here may be taken for a page or a script of the server.

use crate::words::words;

words! {
    /// A content type. HTML and SVG are [`Text`](Self::Text).
    ContentType {
        /// A PNG picture.
        Png = "image/png",
        /// A JPEG picture.
        Jpeg = "image/jpeg",
        /// A GIF picture.
        Gif = "image/gif",
        /// A WebP picture.
        Webp = "image/webp",
        /// WAVE sound.
        Wav = "audio/wav",
        /// A PDF document.
        Pdf = "application/pdf",
        /// A ZIP archive, or a document that is one.
        Zip = "application/zip",
        /// Something compressed with gzip.
        Gzip = "application/gzip",
        /// MPEG-4 video.
        Mp4 = "video/mp4",
        /// Ogg sound.
        Ogg = "audio/ogg",
        /// MPEG sound.
        Mpeg = "audio/mpeg",
        /// UTF-8 without U+0000.
        Text = "text/plain",
        /// Anything else.
        Octets = "application/octet-stream",
    }
}

/// Bytes and where they are in a file.
type Mark = (usize, &'static [u8]);

/// The number of leading bytes that decide on all types but text.
const HEAD: usize = 12;

impl ContentType {
    /// The type that the leading bytes of a file indicate.
    fn of_head(head: &[u8]) -> Option<Self> {
        let at = |start: usize, mark: &[u8]| head.get(start..).is_some_and(|rest| rest.starts_with(mark));
        let table: [(&[Mark], Self); 13] = [
            (&[(0, b"\x89PNG\r\n\x1a\n")], Self::Png),
            (&[(0, b"\xff\xd8\xff")], Self::Jpeg),
            (&[(0, b"GIF87a")], Self::Gif),
            (&[(0, b"GIF89a")], Self::Gif),
            (&[(0, b"RIFF"), (8, b"WEBP")], Self::Webp),
            (&[(0, b"RIFF"), (8, b"WAVE")], Self::Wav),
            (&[(0, b"%PDF-")], Self::Pdf),
            (&[(0, b"PK\x03\x04")], Self::Zip),
            (&[(0, b"\x1f\x8b")], Self::Gzip),
            (&[(4, b"ftyp")], Self::Mp4),
            (&[(0, b"OggS")], Self::Ogg),
            (&[(0, b"ID3")], Self::Mpeg),
            (&[(0, b"\xff\xfb")], Self::Mpeg),
        ];
        let found = table.into_iter().find(|(marks, _)| marks.iter().all(|(start, mark)| at(*start, mark)));
        found.map(|(_, kind)| kind)
    }
}

/// Finds the type of a file that is read in pieces.
#[derive(Clone, Debug, Default)]
pub struct TypeScan {
    head: Vec<u8>,
    /// The incomplete character at the end of the last piece.
    begun: Vec<u8>,
    is_binary: bool,
}

impl TypeScan {
    /// Reads the next piece.
    pub fn read(&mut self, piece: &[u8]) {
        let missing = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..missing]);
        let mut rest = piece;
        // A character that began in an earlier piece ends within its first bytes, or is none.
        while !self.is_binary && !self.begun.is_empty() && !rest.is_empty() {
            self.begun.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.is_binary = error.error_len().is_some(),
            }
        }
        if self.is_binary || rest.is_empty() {
            return;
        }
        self.is_binary = rest.contains(&0);
        if let Err(error) = std::str::from_utf8(rest) {
            self.is_binary |= error.error_len().is_some();
            self.begun = rest[error.valid_up_to()..].to_vec();
        }
    }

    /// The type of the bytes that were read.
    pub fn finish(&self) -> ContentType {
        let is_text = !self.is_binary && self.begun.is_empty();
        let other = if is_text { ContentType::Text } else { ContentType::Octets };
        ContentType::of_head(&self.head).unwrap_or(other)
    }
}
