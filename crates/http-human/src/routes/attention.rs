//! The routes of the attention list.

use http_wire::openapi::{Endpoint, get, post};
use http_wire::page::PageMetadata;
use http_wire::view::AttentionView;

use crate::attention;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/attention", attention::list)
            .named(
                "listAttention",
                "List everything that waits for the caller, in all rooms: blocking items first, then the oldest",
            )
            .query::<attention::ListAttentionQuery>()
            .lists::<AttentionView<'_>, PageMetadata>(),
        get("/attention/{attention_id}", attention::find)
            .named("findAttention", "Show an item, and who answered it")
            .answers::<AttentionView<'_>>(200),
        post("/attention/{attention_id}/answer", attention::answer)
            .named(
                "answerAttention",
                "Answer an item: post the text or the decision that its asker expects, as the caller",
            )
            .body::<attention::AnswerAttentionBody>()
            .answers::<AttentionView<'_>>(200)
            .refuses(&[409]),
        post("/attention/{attention_id}/dismiss", attention::dismiss)
            .named("dismissAttention", "Take an item off the list without answering its asker")
            .answers::<AttentionView<'_>>(200)
            .refuses(&[409]),
    ]
}
