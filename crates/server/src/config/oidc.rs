//! Identity providers: the tables `[oidc.NAME]`, and the switch that turns passwords off.

use std::fs;
use std::time::Duration;

use domain::id::OrganizationId;
use domain::login::{ClaimRule, ProviderName, ProviderPolicy};
use domain::organization::OrganizationRole;
use domain::plan::{OrganizationName, WhichOrganization};
use http_wire::public_url::PublicUrl;

use super::key::{Form, Key};
use super::parse;
use super::values::Values;

/// How providers are set, for the reference.
pub(super) const INTRODUCTION: &str = "\
A table `[oidc.NAME]` for each provider (OpenID Connect), in the order of their buttons. The name, of `a-z`, `0-9`, and \
`-`, is part of the address that the provider sends browsers back to: `PUBLIC_URL/console/oidc/NAME/callback`. \
`public_url` is required. See *Identity providers* in [operations.md](operations.md).";

/// How rules for claims are set, for the reference.
pub(super) const RULES_INTRODUCTION: &str = "\
A table `[oidc.NAME.claims.RULE]` for each rule; its name is only for you. At every log-in, the first rule in the file that \
applies decides the organization and the role of the user. If there are rules and none applies, nobody is logged in. \
Without rules, everybody is admitted, and new accounts get an organization of their own.";

/// The settings in the table of a provider: name, default, and description.
pub(super) const LINES: [(&str, &str, &str); 11] = [
    ("issuer", "required", "URL of the provider, exactly as its discovery document states it."),
    ("client_id", "required", "Id of this server at the provider."),
    ("client_secret", "none", "Secret of this server at the provider."),
    ("client_secret_file", "none", "File with the secret, instead of `client_secret`."),
    ("label", "`NAME`", "Text of the button: `Log in with LABEL`."),
    ("scopes", "`[\"email\", \"profile\"]`", "Scopes that are requested, beside `openid`."),
    ("create_accounts", "`false`", "Whether the first log-in of a person creates an account."),
    (
        "link_by_verified_email",
        "`false`",
        "Whether the first log-in of a person may link the account with the same email address, if the provider has \
         verified it, and if the account is in the organization of the rule, where there are rules. Accounts of operators \
         are not linked. Whoever controls an address at the provider then controls the account.",
    ),
    (
        "trust_email",
        "`false`",
        "Whether addresses are verified if the provider does not say so (`email_verified`). Set it only for a \
         provider whose users cannot enter any address.",
    ),
    (
        "session_hours",
        "`24`",
        "How many hours (1 to 720) a session lasts after a log-in with this provider. People then log in again, which \
         those who have lost their account at the provider cannot.",
    ),
    (
        "max_age_minutes",
        "none",
        "How many minutes (1 to 1440) before a log-in the person may have authenticated at the provider, which asks again \
         after that. Without it, a person who is logged in at the provider need not prove anything. The provider must state \
         the time in ID tokens (`auth_time`), which some do not.",
    ),
];

/// The settings in the table of a rule.
pub(super) const RULE_LINES: [(&str, &str, &str); 4] = [
    (
        "claim",
        "required",
        "Name of a claim, such as `groups`, or the path to it, such as `realm_access.roles`.",
    ),
    ("value", "required", "The value that it has or contains, in exact spelling; `*` is any."),
    (
        "organization",
        "required",
        "Name or id of the organization, which must exist. Its admins can rename it, so the id is safer.",
    ),
    ("role", "`\"member\"`", "Role in it: `admin` or `member`."),
];

/// A provider as it is configured.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// Its name in paths.
    pub name: ProviderName,
    /// The text of its button.
    pub label: String,
    /// How it is reached.
    pub settings: oidc::Settings,
    /// What its people may do.
    pub policy: ProviderPolicy,
    /// How long a session lasts.
    pub session_lifetime: Duration,
}

/// How users log in.
#[derive(Clone, Debug)]
pub struct OidcConfig {
    /// Whether passwords are off.
    pub is_only: bool,
    /// The providers.
    pub providers: Vec<ProviderConfig>,
}

/// The names of all settings in the table that contains the setting `name`.
pub(super) fn lines_like(name: &str) -> Vec<String> {
    let table = name.starts_with("oidc.").then(|| name.rsplit_once('.')).flatten();
    let Some((table, _)) = table else { return Vec::new() };
    let lines = if table.contains(".claims.") { &RULE_LINES[..] } else { &LINES[..] };
    lines.iter().map(|(line, ..)| format!("{table}.{line}")).collect()
}

/// Reads all providers.
pub(super) fn read(values: &mut Values, public_url: Option<&PublicUrl>, has_console: bool) -> OidcConfig {
    let key = Key::switch(
        "oidc_only",
        "false",
        "Whether people log in only with identity providers. Passwords are then refused. If the provider is down, \
         `parlance user login-link` lets a user in.",
    );
    let is_only = values.read(key, parse::switch);
    let mut providers = Vec::new();
    let tables = values.tables_in("oidc");
    for name in tables.iter().filter(|name| !name.contains('.')) {
        providers.extend(provider(values, name, &tables, public_url));
    }
    if is_only && providers.is_empty() {
        values
            .refuse("oidc_only", "needs an identity provider, in a table [oidc.NAME] of the file".to_owned());
    }
    if !providers.is_empty() && public_url.is_none() {
        let problem = "is required, since identity providers send browsers back to it".to_owned();
        values.refuse("public_url", problem);
    }
    if !providers.is_empty() && !has_console {
        let problem = "must be true, since people log in with identity providers at the console".to_owned();
        values.refuse("console", problem);
    }
    OidcConfig { is_only, providers }
}

fn provider(
    values: &mut Values,
    name: &str,
    tables: &[String],
    public_url: Option<&PublicUrl>,
) -> Option<ProviderConfig> {
    let table = format!("oidc.{name}");
    let path = |line: &str| format!("{table}.{line}");
    let issuer =
        values.line(&path("issuer"), Form::Text, |text| oidc::check_issuer(text).map(|()| text.to_owned()));
    let mut text = |line| values.line(&path(line), Form::Text, parse::text);
    let (client_id, secret, file, label) =
        (text("client_id"), text("client_secret"), text("client_secret_file"), text("label"));
    let scopes = values.line(&path("scopes"), Form::List, parse::list(|text| Ok(text.to_owned())));
    let mut flag = |line| values.line(&path(line), Form::Switch, parse::switch).unwrap_or(false);
    let (creates_accounts, links_by_email, trusts_email) =
        (flag("create_accounts"), flag("link_by_verified_email"), flag("trust_email"));
    let hours = values.line(&path("session_hours"), Form::Number, parse::number(1, 720)).unwrap_or(24);
    let session_lifetime = Duration::from_secs(hours * 60 * 60);
    let max_age = values.line(&path("max_age_minutes"), Form::Number, parse::number(1, 1440));
    let rules = tables.iter().filter_map(|inner| inner.strip_prefix(name)?.strip_prefix(".claims."));
    let rules =
        rules.filter_map(|rule| self::rule(values, &format!("{table}.claims.{rule}"))).collect::<Vec<_>>();
    let from_file = file.as_deref().and_then(|file| {
        let read = fs::read_to_string(file).map_err(|cause| format!("cannot read {file}: {cause}"));
        let read = read.map(|text| text.trim().to_owned()).and_then(|text| parse::text(&text));
        read.map_err(|problem| values.refuse(&path("client_secret_file"), problem)).ok()
    });
    if secret.is_some() && file.is_some() {
        values.refuse(&path("client_secret"), "is set, and client_secret_file too; remove one".to_owned());
    }
    let named = ProviderName::new(name);
    if named.is_none() {
        values.refuse(&table, "a provider's name must be 1 to 32 of a-z, 0-9, and -".to_owned());
    }
    if issuer.is_none() || client_id.is_none() {
        values.refuse(&table, "needs a valid `issuer` and `client_id`".to_owned());
    }
    let name = named?;
    let redirect_url =
        public_url.map_or_else(String::new, |url| format!("{url}/console/oidc/{name}/callback"));
    let settings = oidc::Settings {
        issuer: issuer?,
        client_id: client_id?,
        client_secret: secret.or(from_file),
        scopes: scopes.unwrap_or_else(|| ["email", "profile"].map(str::to_owned).to_vec()),
        redirect_url,
        claims: rules.iter().map(|rule| rule.claim.clone()).collect(),
        max_age: max_age.map(|minutes| Duration::from_secs(minutes * 60)),
    };
    let policy = ProviderPolicy { creates_accounts, links_by_email, trusts_email, rules };
    let label = label.unwrap_or_else(|| name.to_string());
    Some(ProviderConfig { name, label, settings, policy, session_lifetime })
}

fn rule(values: &mut Values, table: &str) -> Option<ClaimRule> {
    let path = |line: &str| format!("{table}.{line}");
    let mut text = |line| values.line(&path(line), Form::Text, parse::text);
    let (claim, value) = (text("claim"), text("value"));
    let named = |text: &str| match OrganizationId::parse(text) {
        Some(id) => Ok(WhichOrganization::Id(id)),
        None => OrganizationName::new(text)
            .map(|name| WhichOrganization::Named(name.as_str().to_owned()))
            .map_err(|fault| format!("a name {fault}")),
    };
    let organization = values.line(&path("organization"), Form::Text, named);
    let role = values.line(&path("role"), Form::Text, |text| {
        OrganizationRole::parse(text).ok_or_else(|| format!("'{text}' is neither admin nor member"))
    });
    let (Some(claim), Some(value), Some(organization)) = (claim, value, organization) else {
        values.refuse(table, "needs a valid `claim`, `value`, and `organization`".to_owned());
        return None;
    };
    Some(ClaimRule { claim, value, organization, role: role.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::super::with_file;
    use super::*;

    const BEGIN: &str = "public_url = 'https://chat.example.org'\n";

    #[test]
    fn providers_are_read_in_order() {
        let file = "[oidc.second]\nissuer = 'https://b.example'\nclient_id = 'x'\nlabel = 'B'\nscopes = ['email', 'groups']\n\
                    [oidc.first]\nissuer = 'https://a.example'\nclient_id = 'y'\nclient_secret = 's'\nsession_hours = 8\n\
                    create_accounts = true\nlink_by_verified_email = true\n\
                    [oidc.first.claims.z]\nclaim = 'groups'\nvalue = 'admins'\norganization = 'Acme'\nrole = 'admin'\n\
                    [oidc.first.claims.a]\nclaim = 'groups'\nvalue = '*'\norganization = 'Acme'\n";
        let examined = with_file(&[], &[], &format!("{BEGIN}{file}"));
        assert_eq!(examined.faults, []);
        let OidcConfig { is_only, providers } = examined.config.oidc;
        assert!(!is_only);
        let [second, first] = &providers[..] else { panic!("{providers:?}") };
        assert_eq!((second.name.as_str(), &*second.label), ("second", "B"));
        assert_eq!(second.settings.scopes, ["email", "groups"]);
        assert_eq!(second.policy, ProviderPolicy::default());
        let hours = |provider: &ProviderConfig| provider.session_lifetime.as_secs() / 3600;
        assert_eq!((hours(second), hours(first)), (24, 8));
        assert_eq!((first.label.as_str(), first.settings.client_secret.as_deref()), ("first", Some("s")));
        assert_eq!(first.settings.scopes, ["email", "profile"]);
        assert_eq!(first.settings.redirect_url, "https://chat.example.org/console/oidc/first/callback");
        assert!(first.policy.creates_accounts && first.policy.links_by_email && !first.policy.trusts_email);
        let rules = first.policy.rules.iter().map(|rule| (&*rule.value, rule.role)).collect::<Vec<_>>();
        assert_eq!(rules, [("admins", OrganizationRole::Admin), ("*", OrganizationRole::Member)]);
        assert!(!format!("{first:?}").contains("client_secret"), "secrets are not shown");
    }

    #[test]
    fn wrong_providers_are_faults() {
        let good = "[oidc.x]\nissuer = 'https://a.example'\nclient_id = 'x'\n";
        for (file, faults) in [
            (format!("{BEGIN}{good}"), 0),
            (good.to_owned(), 1),
            (format!("{BEGIN}console = false\n{good}"), 1),
            (format!("{BEGIN}oidc_only = true\n"), 1),
            (format!("{BEGIN}oidc_only = true\n{good}"), 0),
            (format!("{BEGIN}[oidc.x]\nissuer = 'http://a.example'\nclient_id = 'x'\n"), 2),
            (format!("{BEGIN}[oidc.x]\nclient_id = 'x'\n"), 1),
            (format!("{BEGIN}[oidc.X]\nissuer = 'https://a.example'\nclient_id = 'x'\n"), 1),
            (format!("{BEGIN}{good}client_secret = 's'\nclient_secret_file = '/nowhere'\n"), 2),
            (format!("{BEGIN}{good}scopes = 'email'\n"), 1),
            (format!("{BEGIN}{good}create_account = true\n"), 1),
            (format!("{BEGIN}{good}session_hours = 0\n"), 1),
            (format!("{BEGIN}{good}session_hours = 721\n"), 1),
            (format!("{BEGIN}{good}max_age_minutes = 0\n"), 1),
            (format!("{BEGIN}{good}[oidc.x.claims.a]\nclaim = 'g'\nvalue = 'v'\n"), 1),
            (
                format!(
                    "{BEGIN}{good}[oidc.x.claims.a]\nclaim = 'g'\nvalue = 'v'\norganization = 'a'\nrole = 'boss'\n"
                ),
                1,
            ),
            (
                format!(
                    "{BEGIN}{good}[oidc.x.claims.a]\nclaim = 'g'\nvalue = 'v'\norganization = 'a'\ngroup = 'b'\n"
                ),
                1,
            ),
        ] {
            let found = with_file(&[], &[], &file).faults;
            assert_eq!(found.len(), faults, "{file}: {found:?}");
        }
    }
}
