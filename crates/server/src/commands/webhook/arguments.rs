//! The arguments of `parlance webhook`.

use clap::{Args, Subcommand};

use crate::cli::TableArguments;

/// What to do with webhooks.
#[derive(Subcommand, Debug)]
pub enum WebhookCommand {
    /// Create the webhook of an agent or organization, and print its secret once; or change its URL.
    #[command(after_help = "Examples:\n  parlance webhook set ann/echo https://hooks.example.org/echo\n  \
        parlance webhook set --organization Acme https://hooks.example.org/audit --event 'agent.*' --event key.created")]
    Set(SetWebhookArguments),
    /// Show a webhook, without its secret.
    #[command(
        after_help = "Examples:\n  parlance webhook show ann/echo\n  parlance webhook show --organization Acme"
    )]
    Show(WebhookArguments),
    /// Replace the secret and show the new one once. Earlier secrets stay valid for 24 hours unless you revoke them.
    #[command(after_help = "Example:\n  parlance webhook rotate ann/echo --json | jq -r .secret")]
    Rotate(RotateArguments),
    /// Enable a disabled webhook and send waiting deliveries immediately.
    #[command(after_help = "Example:\n  parlance webhook enable ann/echo")]
    Enable(WebhookArguments),
    /// Remove a webhook, and its delivery log.
    #[command(after_help = "Example:\n  parlance webhook remove ann/echo")]
    Remove(WebhookArguments),
    /// List the deliveries to a webhook, newest first.
    #[command(after_help = "Example:\n  parlance webhook deliveries ann/echo --limit 20")]
    Deliveries(DeliveriesArguments),
    /// Repeat a delivery with the same id, or send a waiting one immediately.
    #[command(
        after_help = "Example:\n  parlance webhook resend ann/echo 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77"
    )]
    Resend(ResendArguments),
}

/// Whose webhook it is.
#[derive(Args, Debug)]
pub struct OwnerArguments {
    /// Handle of the agent (owner/slug), or with --organization the name of an organization.
    #[arg(value_name = "NAME")]
    pub agent: String,
    /// The webhook of an organization, which receives the entries of its audit log.
    #[arg(long)]
    pub organization: bool,
}

/// The agent or organization.
#[derive(Args, Debug)]
pub struct WebhookArguments {
    #[command(flatten)]
    pub of: OwnerArguments,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent or organization, and what becomes of the earlier secrets.
#[derive(Args, Debug)]
pub struct RotateArguments {
    #[command(flatten)]
    pub of: OwnerArguments,
    /// Revoke the earlier secrets immediately, for example because one has leaked.
    #[arg(long)]
    pub revoke_previous: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The agent or organization, and the URL.
#[derive(Args, Debug)]
pub struct SetWebhookArguments {
    #[command(flatten)]
    pub of: OwnerArguments,
    /// URL that begins with https://.
    pub url: String,
    /// With --organization: an action of the audit log, such as agent.deleted, or an area, such as agent.*. Repeat for several.
    /// Without it, a new webhook receives all events, and the events of an existing one stay.
    #[arg(long = "event", value_name = "EVENT", requires = "organization")]
    pub events: Vec<String>,
    /// With --organization: the webhook receives all events.
    #[arg(long, requires = "organization", conflicts_with = "events")]
    pub all_events: bool,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The deliveries to list.
#[derive(Args, Debug)]
pub struct DeliveriesArguments {
    #[command(flatten)]
    pub of: OwnerArguments,
    /// Maximum number of deliveries.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The delivery to send again.
#[derive(Args, Debug)]
pub struct ResendArguments {
    #[command(flatten)]
    pub of: OwnerArguments,
    /// The delivery's id, as `parlance webhook deliveries` shows it.
    pub id: String,
    #[command(flatten)]
    pub print: TableArguments,
}

impl WebhookCommand {
    /// Whose webhook it is about.
    pub(super) const fn of(&self) -> &OwnerArguments {
        match self {
            Self::Set(arguments) => &arguments.of,
            Self::Show(arguments) | Self::Enable(arguments) | Self::Remove(arguments) => &arguments.of,
            Self::Rotate(arguments) => &arguments.of,
            Self::Deliveries(arguments) => &arguments.of,
            Self::Resend(arguments) => &arguments.of,
        }
    }
}
