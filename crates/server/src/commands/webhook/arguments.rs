//! The arguments of `parlance webhook`.

use clap::{Args, Subcommand};

use crate::cli::TableArguments;

/// What to do with webhooks.
#[derive(Subcommand, Debug)]
pub enum WebhookCommand {
    /// Create the webhook of an agent, and print its secret once; or change its URL.
    #[command(after_help = "Example:\n  parlance webhook set ann/echo https://hooks.example.org/echo")]
    Set(SetWebhookArguments),
    /// Show the webhook of an agent, without its secret.
    #[command(after_help = "Example:\n  parlance webhook show ann/echo")]
    Show(WebhookArguments),
    /// Replace the secret and show the new one once. Earlier secrets stay valid for 24 hours unless you revoke them.
    #[command(after_help = "Example:\n  parlance webhook rotate ann/echo --json | jq -r .secret")]
    Rotate(RotateArguments),
    /// Enable a disabled webhook and send waiting deliveries immediately.
    #[command(after_help = "Example:\n  parlance webhook enable ann/echo")]
    Enable(WebhookArguments),
    /// Remove the webhook of an agent, and its delivery log.
    #[command(after_help = "Example:\n  parlance webhook remove ann/echo")]
    Remove(WebhookArguments),
    /// List the deliveries of an agent, newest first.
    #[command(after_help = "Example:\n  parlance webhook deliveries ann/echo --limit 20")]
    Deliveries(DeliveriesArguments),
    /// Repeat a delivery with the same id, or send a waiting one immediately.
    #[command(
        after_help = "Example:\n  parlance webhook resend ann/echo 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77"
    )]
    Resend(ResendArguments),
}

/// The agent.
#[derive(Args, Debug)]
pub struct WebhookArguments {
    /// Handle of the agent (owner/slug).
    pub agent: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent, and what becomes of its earlier secrets.
#[derive(Args, Debug)]
pub struct RotateArguments {
    /// Handle of the agent (owner/slug).
    pub agent: String,
    /// Revoke the earlier secrets immediately, for example because one has leaked.
    #[arg(long)]
    pub revoke_previous: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent and the URL.
#[derive(Args, Debug)]
pub struct SetWebhookArguments {
    /// Handle of the agent (owner/slug).
    pub agent: String,
    /// URL that begins with https://.
    pub url: String,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The deliveries to list.
#[derive(Args, Debug)]
pub struct DeliveriesArguments {
    /// Handle of the agent (owner/slug).
    pub agent: String,
    /// Maximum number of deliveries.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The delivery to send again.
#[derive(Args, Debug)]
pub struct ResendArguments {
    /// Handle of the agent (owner/slug).
    pub agent: String,
    /// The delivery's id, as `parlance webhook deliveries` shows it.
    pub id: String,
    #[command(flatten)]
    pub print: TableArguments,
}
