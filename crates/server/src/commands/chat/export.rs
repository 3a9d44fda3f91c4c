//! `parlance chat export`: writes a transcript of one chat.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use domain::message::ReadMessagesError;
use domain::transcript::{Transcript, TranscriptReader};
use serde_json::json;

use super::arguments::ExportChatArguments;
use super::{find, unread};
use crate::archive::draft::Draft;
use crate::failure::Failure;
use crate::output::{count, print, unprinted};
use crate::progress::{Progress, say};
use crate::store::Store;
use crate::wiring;

pub(super) async fn export(store: &Arc<dyn Store>, arguments: &ExportChatArguments) -> Result<(), Failure> {
    let overview = find(store, &arguments.id).await?;
    let transcripts = wiring::transcripts(store.clone());
    let cannot = |cause| {
        let path = arguments.to.as_deref().unwrap_or_else(|| Path::new("-"));
        Failure::new(format_args!("cannot write {}", path.display()), cause)
    };
    // Before the export is recorded.
    let draft = arguments.to.as_deref().map(Draft::of).transpose().map_err(cannot)?;
    let begun = transcripts.begin(TranscriptReader::Operator, overview.chat.id, arguments.format).await;
    let mut transcript = begun.map_err(unwritten)?;
    if let Some(mut draft) = draft {
        write(&mut transcript, overview.messages, &mut draft, cannot).await?;
        draft.finish().map_err(cannot)?;
    } else {
        write(&mut transcript, overview.messages, &mut BufWriter::new(io::stdout().lock()), unprinted)
            .await?;
    }
    let sha256 = transcript.digest().map(|digest| digest.to_string());
    if !arguments.json {
        say(&format!(
            "exported {}, sha256 {}",
            count(transcript.messages(), "message"),
            sha256.as_deref().unwrap_or("-")
        ));
        return Ok(());
    }
    let report = json!({
        "file": arguments.to,
        "chat_id": overview.chat.id.to_string(),
        "format": arguments.format.as_str(),
        "messages": transcript.messages(),
        "bytes": transcript.bytes(),
        "sha256": sha256,
    });
    print(&report.to_string())
}

/// Writes all of the transcript, a page of messages at a time.
async fn write(
    transcript: &mut Transcript,
    messages: u64,
    out: &mut dyn Write,
    cannot: impl Fn(io::Error) -> Failure,
) -> Result<(), Failure> {
    let mut progress = Progress::of("export", messages);
    loop {
        let before = transcript.messages();
        let Some(piece) = transcript.next().await.map_err(unwritten)? else { break };
        out.write_all(piece.as_bytes()).map_err(&cannot)?;
        progress.add(transcript.messages() - before);
    }
    out.flush().map_err(cannot)
}

fn unwritten(error: ReadMessagesError) -> Failure {
    match error {
        ReadMessagesError::ChatNotFound => {
            Failure::plain("the chat was deleted during the export".to_owned())
        }
        ReadMessagesError::Store(cause) => unread(cause),
    }
}
