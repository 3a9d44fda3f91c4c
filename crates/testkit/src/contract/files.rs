//! Files: uploads, attachments, limits, expiry, and what is removed.

use std::time::Duration;

use domain::audit::AuditAction;
use domain::caller::Caller;
use domain::chat::{ChatParts, Role};
use domain::event::DomainEvent;
use domain::file::{
    Announced, ContentType, DownloadError, File, FileDigest, FileLimits, FileName, FileService, FilesFull,
    ORPHAN_AGE, ObjectError, REMOVAL_DELAY, Span, StoredFile, SweepWalk, UploadError,
};
use domain::id::{ChatId, FileId, MessageId, ParticipantId};
use domain::message::{
    Ageing, Anchor, HistoryFilter, Kinds, Message, MessageContent, Retention, SendMessage, SendMessageError,
};
use domain::ports::Clock;
use domain::services::{Ports, Services};
use domain::work::{Resend, WorkChange, WorkScope};
use sha2::{Digest, Sha256};

use super::audit::log_of;
use super::messages::{ann_and_bot, first};
use crate::World;
use crate::world::text;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn announced(name: &str, bytes: &[u8]) -> Announced {
    let digest = FileDigest::new(Sha256::digest(bytes).into());
    Announced { name: FileName::new(name).unwrap(), digest, bytes: None }
}

/// Uploads in pieces.
pub(crate) async fn try_upload(
    files: &FileService,
    by: impl Into<Caller>,
    chat: ChatId,
    name: &str,
    bytes: &[u8],
) -> Result<StoredFile, UploadError> {
    let mut upload = files.begin_upload(by, chat, announced(name, bytes)).await?;
    for piece in bytes.chunks(3) {
        upload.write(piece).await?;
    }
    upload.finish().await
}

pub(super) async fn upload(
    world: &World,
    by: impl Into<Caller>,
    chat: ChatId,
    name: &str,
    bytes: &[u8],
) -> File {
    try_upload(&world.files, by, chat, name, bytes).await.unwrap().file
}

async fn bytes_of(world: &World, file: &File) -> Result<Vec<u8>, ObjectError> {
    let mut reader = world.ports.objects.open(file.id, Span::whole(file.bytes)).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.read().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

pub(super) async fn find(world: &World, by: impl Into<Caller>, chat: ChatId, file: FileId) -> Option<File> {
    match world.files.find(by, chat, file).await {
        Ok(file) => Some(file),
        Err(DownloadError::NotFound) => None,
        Err(error) => panic!("{error}"),
    }
}

/// A text with these files for `to`.
fn with_files(to: &[ParticipantId], files: &[FileId]) -> SendMessage {
    SendMessage { attachments: files.to_vec(), ..text("look", to) }
}

/// The sweep takes what is older for abandoned, so nobody may store it any more.
pub async fn an_upload_ends_long_before_the_sweep_takes_its_bytes(world: World) {
    let (_, bot, chat) = ann_and_bot(&world).await;
    let mut upload = world.files.begin_upload(bot.caller, chat, announced("slow", b"slow")).await.unwrap();
    upload.write(b"slow").await.unwrap();
    world.clock.advance(ORPHAN_AGE / 2 + Duration::from_secs(1));
    let refused = upload.finish().await;
    assert!(matches!(refused, Err(UploadError::Objects(ObjectError::Unavailable(_)))), "{refused:?}");
    assert_eq!(sweep(&world).await, (0, 0), "nothing is left of it");
    assert!(try_upload(&world.files, bot.caller, chat, "slow", b"slow").await.unwrap().is_new);
}

/// Walks over all bytes; returns the numbers of expired files and of bytes without a record.
async fn sweep(world: &World) -> (usize, usize) {
    let (mut walk, mut all) = (SweepWalk::default(), (0, 0));
    for _ in 0..256 {
        let swept = world.files.sweep(&mut walk, world.clock.now()).await.unwrap();
        all = (all.0 + swept.expired, all.1 + swept.orphans);
    }
    all
}

/// The same bytes in one room are one file, under its first name; in another room they are another one.
pub async fn the_same_bytes_in_a_room_are_one_file(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let stored = try_upload(&world.files, bot.caller, chat, "notes.txt", b"some notes").await.unwrap();
    let file = stored.file;
    assert!(stored.is_new);
    let expected = File {
        id: file.id,
        name: "notes.txt".to_owned(),
        content_type: ContentType::Text,
        bytes: 10,
        digest: announced("x", b"some notes").digest,
        expires_at: Some(world.clock.now().plus(DAY)),
    };
    assert_eq!(file, expected);
    assert_eq!(bytes_of(&world, &file).await.unwrap(), b"some notes");
    assert_eq!(find(&world, bot.caller, chat, file.id).await, Some(file.clone()));

    // It is kept as long as a new one would be.
    world.clock.advance(Duration::from_secs(60));
    let again = try_upload(&world.files, ann.caller, chat, "copy.txt", b"some notes").await.unwrap();
    let renewed = File { expires_at: Some(world.clock.now().plus(DAY)), ..file.clone() };
    assert_eq!((again.file, again.is_new), (renewed.clone(), false));
    assert_eq!(find(&world, ann.caller, chat, file.id).await, Some(renewed.clone()));

    let other = world.chat(ann.caller, &[]).await;
    let copy = upload(&world, ann.caller, other, "copy.txt", b"some notes").await;
    assert_ne!(copy.id, file.id);
    assert_eq!(copy.name, "copy.txt");
    assert_eq!(find(&world, ann.caller, other, file.id).await, None);

    // One that has expired is no longer the same.
    world.clock.advance(DAY);
    let anew = try_upload(&world.files, ann.caller, chat, "new.txt", b"some notes").await.unwrap();
    assert!(anew.is_new && anew.file.id != file.id);
    assert_eq!(find(&world, ann.caller, chat, file.id).await, None);
    assert_eq!(bytes_of(&world, &anew.file).await.unwrap(), b"some notes");
}

pub async fn many_uploads_of_the_same_bytes_make_one_file(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let uploads = (0..8).map(|number| {
        let (files, caller) =
            (world.files.clone(), if number % 2 == 0 { Caller::from(ann.caller) } else { bot.caller.into() });
        tokio::spawn(
            async move { try_upload(&files, caller, chat, &format!("{number}"), b"same").await.unwrap() },
        )
    });
    let mut stored = Vec::new();
    for upload in uploads.collect::<Vec<_>>() {
        stored.push(upload.await.unwrap());
    }
    assert_eq!(stored.iter().filter(|one| one.is_new).count(), 1);
    assert!(stored.iter().all(|one| one.file.id == stored[0].file.id));
    world.clock.advance(ORPHAN_AGE + REMOVAL_DELAY + Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (1, 0), "nothing is left of the others");
}

/// At the moment when a file expires, somebody shows it, two upload it again, and another server removes what has expired,
/// whose clock is as far ahead as it may be. Whatever comes first, nobody gets a file without its bytes.
pub async fn a_file_that_expires_meanwhile_is_kept_or_unknown(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    for round in 0..8_u8 {
        let bytes = [b'f', round];
        let file = upload(&world, ann.caller, chat, "first", &bytes).await;
        let moment = Duration::from_micros(u64::from(round % 2));
        world.clock.advance(DAY.checked_sub(moment).unwrap());
        let ahead = world.clock.now().plus(REMOVAL_DELAY);
        let (files, messages) = (world.files.clone(), world.messages.clone());
        let sweeping =
            tokio::spawn(async move { files.sweep(&mut SweepWalk::default(), ahead).await.unwrap() });
        let shown = with_files(&[], &[file.id]);
        let sending = tokio::spawn(async move { messages.send(ann.caller, chat, shown).await });
        let uploading = [Caller::from(ann.caller), bot.caller.into()].map(|by| {
            let files = world.files.clone();
            tokio::spawn(async move { try_upload(&files, by, chat, "again", &bytes).await.unwrap() })
        });
        let mut stored = Vec::new();
        for upload in uploading {
            stored.push(upload.await.unwrap());
        }
        sweeping.await.unwrap();
        match sending.await.unwrap() {
            Ok(sent) => {
                let page = world.messages.history(ann.caller, chat, HistoryFilter::default(), first(1)).await;
                let newest = page.unwrap().rows.pop().unwrap();
                let kept = File { expires_at: None, ..file.clone() };
                assert_eq!((newest.id, newest.attachments), (sent.id, vec![kept.clone()]), "round {round}");
                assert_eq!(bytes_of(&world, &kept).await.unwrap(), bytes, "round {round}");
            }
            Err(SendMessageError::UnknownAttachment { index: 0 }) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
        let [one, two] = &stored[..] else { unreachable!() };
        assert_eq!(one.file.id, two.file.id, "round {round}");
        assert!(!(one.is_new && two.is_new), "round {round}");
        assert!(find(&world, bot.caller, chat, one.file.id).await.is_some(), "round {round}");
        assert_eq!(bytes_of(&world, &one.file).await.unwrap(), bytes, "round {round}");
    }
}

/// Whoever may read a room downloads from it; only its participants upload.
pub async fn files_are_reached_through_their_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let file = upload(&world, bot.caller, chat, "a", b"a").await;
    let ben = world.user("ben").await;
    let rival = world.agent(&ben, "Rival").await;
    for stranger in [Caller::from(ben.caller), rival.caller.into()] {
        assert_eq!(find(&world, stranger, chat, file.id).await, None);
        let refused = try_upload(&world.files, stranger, chat, "a", b"a").await;
        assert!(matches!(refused, Err(UploadError::NotFound)), "{refused:?}");
        assert!(matches!(world.files.check_uploader(stranger, chat).await, Err(UploadError::NotFound)));
    }
    let nowhere = ChatId::NIL;
    assert!(find(&world, ann.caller, nowhere, file.id).await.is_none());
    assert!(find(&world, ann.caller, chat, FileId::NIL).await.is_none());

    // A human may look into the rooms of own agents, and no more.
    let bots = world.chat(bot.caller, &[]).await;
    let own = upload(&world, bot.caller, bots, "b", b"b").await;
    assert_eq!(find(&world, ann.caller, bots, own.id).await, Some(own));
    let refused = try_upload(&world.files, ann.caller, bots, "c", b"c").await;
    assert!(matches!(refused, Err(UploadError::NotFound)), "{refused:?}");

    // Files are the room's: they stay when their uploader leaves, who then reaches none.
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    assert!(find(&world, bot.caller, chat, file.id).await.is_none());
    assert!(find(&world, ann.caller, chat, file.id).await.is_some());
}

/// Wherever a message is shown, its files are; in the order of the request, each once.
pub async fn a_message_shows_its_files_everywhere(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut files = Vec::new();
    for name in ["one", "two", "three"] {
        files.push(upload(&world, ann.caller, chat, name, name.as_bytes()).await);
    }
    let shown = [2, 0].map(|index: usize| File { expires_at: None, ..files[index].clone() });
    let ids = [files[2].id, files[0].id, files[2].id];
    world.publisher.take();
    let sent = world
        .messages
        .send(ann.caller, chat, with_files(&[ParticipantId::Agent(bot.id)], &ids))
        .await
        .unwrap()
        .id;
    let plain = world.send(ann.caller, chat, "nothing here", &[ParticipantId::Agent(bot.id)]).await.id;
    let published = world.publisher.take();
    let pushed = published.iter().find_map(|event| match event {
        DomainEvent::MessageCreated { message, .. } if message.id == sent => Some(message.clone()),
        _ => None,
    });
    assert_eq!(pushed.unwrap().attachments, shown);
    let history =
        world.messages.history(ann.caller, chat, HistoryFilter::default(), first(10)).await.unwrap();
    let of = |messages: &[Message], id: MessageId| {
        messages.iter().find(|message| message.id == id).unwrap().attachments.clone()
    };
    assert_eq!((of(&history.rows, sent), of(&history.rows, plain)), (shown.to_vec(), vec![]));
    let context = world.messages.context(bot.caller, chat, first(10)).await.unwrap();
    assert_eq!((of(&context.rows, sent), of(&context.rows, plain)), (shown.to_vec(), vec![]));
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!((next.id, next.attachments), (sent, shown.to_vec()));
    let around =
        world.messages.surroundings(ann.caller, chat, Anchor::Around(plain), Kinds::ALL, 10).await.unwrap();
    assert_eq!((of(&around.rows, sent), of(&around.rows, plain)), (shown.to_vec(), vec![]));
    let parts = ChatParts { last_message: true, ..ChatParts::default() };
    let newest = async || {
        let found = world.chats.find_with_details(ann.caller, chat, parts, false).await.unwrap();
        found.listed.last_message.unwrap()
    };
    assert_eq!(newest().await.attachments, vec![]);
    world.messages.delete(ann.caller, chat, plain).await.unwrap();
    assert_eq!((newest().await.id, newest().await.attachments), (sent, shown.to_vec()));
    for (index, file) in files.iter().enumerate() {
        let expires_at = find(&world, bot.caller, chat, file.id).await.unwrap().expires_at;
        assert_eq!(expires_at, file.expires_at.filter(|_| index == 1), "{index}");
    }
    world.clock.advance(2 * DAY);
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.attachments, shown, "what a message shows does not expire");
}

/// Nothing of a message is stored if one of its files is not there.
pub async fn unknown_attachments_are_refused(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let old = upload(&world, ann.caller, chat, "old", b"old").await;
    world.clock.advance(DAY);
    let known = upload(&world, bot.caller, chat, "known", b"known").await;
    let other = world.chat(ann.caller, &[]).await;
    let elsewhere = upload(&world, ann.caller, other, "elsewhere", b"elsewhere").await;
    world.publisher.take();
    for unknown in [old.id, elsewhere.id, FileId::NIL] {
        let command = with_files(&[ParticipantId::Agent(bot.id)], &[known.id, known.id, unknown]);
        let refused = world.messages.send(ann.caller, chat, command).await;
        assert!(matches!(refused, Err(SendMessageError::UnknownAttachment { index: 2 })), "{refused:?}");
    }
    assert!(world.publisher.take().is_empty());
    assert!(world.deliveries.next(bot.caller, chat).await.unwrap().is_none());
    assert!(find(&world, ann.caller, chat, known.id).await.unwrap().expires_at.is_some());
    let ben = world.user("ben").await;
    let stranger = world.messages.send(ben.caller, chat, with_files(&[], &[known.id])).await;
    assert!(matches!(stranger, Err(SendMessageError::ChatNotFound)), "{stranger:?}");
}

/// A file stays as long as one message shows it; its time begins when the last one is gone.
pub async fn files_of_deleted_messages_expire(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let file = upload(&world, ann.caller, chat, "a", b"a").await;
    let mut sent = Vec::new();
    for _ in 0..2 {
        let message = world
            .messages
            .send(ann.caller, chat, with_files(&[ParticipantId::Agent(bot.id)], &[file.id]))
            .await;
        sent.push(message.unwrap().id);
    }
    world.messages.delete(ann.caller, chat, sent[0]).await.unwrap();
    assert_eq!(find(&world, ann.caller, chat, file.id).await.unwrap().expires_at, None);
    world.messages.delete(ann.caller, chat, sent[1]).await.unwrap();
    let expiry = world.clock.now().plus(DAY);
    assert_eq!(find(&world, ann.caller, chat, file.id).await.unwrap().expires_at, Some(expiry));
    // Shown again, it stays again.
    world
        .messages
        .send(ann.caller, chat, with_files(&[ParticipantId::Agent(bot.id)], &[file.id]))
        .await
        .unwrap();
    assert_eq!(find(&world, ann.caller, chat, file.id).await.unwrap().expires_at, None);

    world.clock.advance(3 * DAY);
    let mut walk = Retention::days(Ageing::Texts, 2);
    while world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap().is_some() {}
    let expiry = world.clock.now().plus(DAY);
    assert_eq!(find(&world, ann.caller, chat, file.id).await.unwrap().expires_at, Some(expiry));
    world.clock.advance(DAY);
    assert!(find(&world, ann.caller, chat, file.id).await.is_none());
    assert_eq!(sweep(&world).await, (0, 0), "another server's clock may be late");
    assert!(bytes_of(&world, &file).await.is_ok());
    world.clock.advance(REMOVAL_DELAY + Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (1, 0));
    assert!(matches!(bytes_of(&world, &file).await, Err(ObjectError::Missing)));
    assert_eq!(sweep(&world).await, (0, 0));
}

/// An edit keeps the files of a text, and work that is sent again has them too.
pub async fn edits_and_resends_keep_files(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let file = upload(&world, ann.caller, chat, "a", b"a").await;
    let sent = world
        .messages
        .send(ann.caller, chat, with_files(&[ParticipantId::Agent(bot.id)], &[file.id]))
        .await
        .unwrap()
        .id;
    let content = MessageContent::new("edited".to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, sent, content).await.unwrap();
    let shown = vec![File { expires_at: None, ..file.clone() }];
    let next = world.deliveries.next(bot.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.attachments, shown);
    let other = world.agent(&ann, "Other").await;
    world.add(ann.caller, chat, other.id.into(), Role::Member).await;
    let change = WorkChange::Resend(Resend { to: Some(other.id), reason: None });
    world.work.change(WorkScope::OwnedBy(ann.id), sent, bot.id, change, None).await.unwrap();
    let next = world.deliveries.next(other.caller, chat).await.unwrap().unwrap();
    assert_eq!(next.attachments, shown);
}

/// Limits count what is stored, of the room and of all rooms of its organization.
pub async fn limits_of_files_hold(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[]).await;
    let limits = FileLimits {
        file_bytes: 8,
        chat_bytes: Some(10),
        organization_bytes: Some(15),
        ..FileLimits::DEFAULT
    };
    let files = Services::new(Ports { files: limits, ..world.ports.clone() }).files;
    let too_large = try_upload(&files, bot.caller, chat, "a", b"ninebytes").await;
    assert!(matches!(too_large, Err(UploadError::TooLarge { limit: 8 })), "{too_large:?}");
    let declared = Announced { bytes: Some(9), ..announced("a", b"") };
    assert!(matches!(
        files.begin_upload(bot.caller, chat, declared).await.err(),
        Some(UploadError::TooLarge { .. })
    ));
    try_upload(&files, bot.caller, chat, "a", b"8 bytes!").await.unwrap();
    let full = |outcome: Result<StoredFile, UploadError>| match outcome {
        Err(UploadError::Full(full)) => full,
        other => panic!("{other:?}"),
    };
    let of_chat = full(try_upload(&files, ann.caller, chat, "b", b"three").await);
    assert_eq!(of_chat, FilesFull { limit: 10, current: 8, chat: Some(chat) });
    let declared = Announced { bytes: Some(5), ..announced("b", b"three") };
    assert!(matches!(files.begin_upload(ann.caller, chat, declared).await.err(), Some(UploadError::Full(_))));
    let same = try_upload(&files, ann.caller, chat, "again", b"8 bytes!").await.unwrap();
    assert!(!same.is_new, "what is there already takes no space");
    try_upload(&files, ann.caller, other, "c", b"seven b").await.unwrap();
    let of_all = full(try_upload(&files, ann.caller, other, "d", b"d").await);
    assert_eq!(of_all, FilesFull { limit: 15, current: 15, chat: None });
    try_upload(&files, ann.caller, other, "empty", b"").await.unwrap();
    // Another organization has its own.
    let ben = world.user("ben").await;
    let bens = world.chat(ben.caller, &[]).await;
    try_upload(&files, ben.caller, bens, "a", b"8 bytes!").await.unwrap();
    world.chats.delete(ann.caller, chat).await.unwrap();
    try_upload(&files, ann.caller, other, "d", b"d").await.unwrap();
    world.clock.advance(ORPHAN_AGE + REMOVAL_DELAY + Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (5, 0), "nothing is left of what was refused");
}

pub async fn wrong_bytes_are_refused(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let mut upload = world.files.begin_upload(ann.caller, chat, announced("a", b"right")).await.unwrap();
    upload.write(b"wrong").await.unwrap();
    assert!(matches!(upload.finish().await, Err(UploadError::WrongDigest)));
    let stored = try_upload(&world.files, ann.caller, chat, "a", b"right").await.unwrap();
    assert!(stored.is_new);
    world.clock.advance(ORPHAN_AGE + REMOVAL_DELAY + Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (1, 0));
}

/// With a room all its files end; those of others stay, whatever their bytes are.
pub async fn a_deleted_room_has_no_files(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let other = world.chat(ann.caller, &[]).await;
    let shown = upload(&world, ann.caller, chat, "shown", b"shown").await;
    world
        .messages
        .send(ann.caller, chat, with_files(&[ParticipantId::Agent(bot.id)], &[shown.id]))
        .await
        .unwrap();
    let loose = upload(&world, ann.caller, chat, "loose", b"loose").await;
    let kept = upload(&world, ann.caller, other, "shown", b"shown").await;
    world.messages.send(ann.caller, other, with_files(&[], &[kept.id])).await.unwrap();
    world.chats.delete(ann.caller, chat).await.unwrap();
    assert!(find(&world, ann.caller, chat, shown.id).await.is_none());
    let refused = try_upload(&world.files, ann.caller, chat, "late", b"late").await;
    assert!(matches!(refused, Err(UploadError::NotFound)), "{refused:?}");
    world.clock.advance(REMOVAL_DELAY + Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (2, 0));
    for gone in [&shown, &loose] {
        assert!(matches!(bytes_of(&world, gone).await, Err(ObjectError::Missing)));
    }
    assert_eq!(bytes_of(&world, &kept).await.unwrap(), b"shown");
}

/// Bytes are removed if they have no record after a day, and only then.
pub async fn bytes_without_a_record_are_removed(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let kept = upload(&world, ann.caller, chat, "kept", b"kept").await;
    world.messages.send(ann.caller, chat, with_files(&[], &[kept.id])).await.unwrap();
    let id = FileId::new(world.ports.ids.generate(world.clock.now()));
    let mut writer = world.ports.objects.create(id).await.unwrap();
    writer.write(b"orphan").await.unwrap();
    writer.finish().await.unwrap();
    let orphan = File { id, bytes: 6, ..kept.clone() };
    world.clock.advance(ORPHAN_AGE);
    assert_eq!(sweep(&world).await, (0, 0));
    assert!(bytes_of(&world, &orphan).await.is_ok());
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(sweep(&world).await, (0, 1));
    assert!(matches!(bytes_of(&world, &orphan).await, Err(ObjectError::Missing)));
    assert_eq!(bytes_of(&world, &kept).await.unwrap(), b"kept");
}

pub async fn uploads_are_audited(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let file = upload(&world, bot.caller, chat, "secret plans.txt", b"plans").await;
    upload(&world, ann.caller, chat, "again.txt", b"plans").await;
    let mut uploads = log_of(&world, None, None).await;
    uploads.retain(|entry| entry.action == AuditAction::FileUploaded);
    assert_eq!(uploads.len(), 1, "the second was no new file");
    assert_eq!(uploads[0].detail.as_deref(), Some(format!("{} (5 bytes)", file.id).as_str()));
}

pub async fn files_can_be_turned_off(world: World) {
    let (ann, _, chat) = ann_and_bot(&world).await;
    let file = upload(&world, ann.caller, chat, "a", b"a").await;
    let off = Services::new(Ports { files: FileLimits::OFF, ..world.ports.clone() }).files;
    assert!(!off.is_on() && world.files.is_on());
    assert!(matches!(off.find(ann.caller, chat, file.id).await, Err(DownloadError::NotFound)));
    let refused = try_upload(&off, ann.caller, chat, "b", b"b").await;
    assert!(matches!(refused, Err(UploadError::NotFound)), "{refused:?}");
}
