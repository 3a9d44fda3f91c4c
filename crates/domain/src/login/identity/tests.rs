use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

fn claims(value: &Value) -> Claims {
    Claims::new(value.as_object().unwrap().clone())
}

fn rule(claim: &str, value: &str, role: OrganizationRole) -> ClaimRule {
    let organization = WhichOrganization::Named("acme".to_owned());
    ClaimRule { claim: claim.to_owned(), value: value.to_owned(), organization, role }
}

#[test]
fn identities_are_texts_on_one_line() {
    assert!(Identity::new("https://sso.example", "248289761001").is_some());
    let long = "x".repeat(256);
    for subject in ["", " ", " x", "x\n", "a\u{0}b", "a\nb", &long] {
        assert_eq!(Identity::new("https://sso.example", subject), None, "{subject:?}");
    }
}

#[test]
fn claims_are_found_by_name_and_path() {
    let said = claims(&json!({
        "groups": ["staff", 7],
        "department": "R&D",
        "is_admin": true,
        "level": 3,
        "nothing": null,
        "realm_access": {"roles": ["admin"]},
        "https://example.org/roles": ["editor"],
        "nested": [["staff"]],
        "empty": [],
    }));
    for (claim, value, applies) in [
        ("groups", "staff", true),
        ("groups", "7", true),
        ("groups", "sta", false),
        ("groups", "STAFF", false),
        ("groups", "*", true),
        ("department", "R&D", true),
        ("is_admin", "true", true),
        ("is_admin", "false", false),
        ("level", "3", true),
        ("nothing", "null", false),
        ("nothing", "*", false),
        ("missing", "*", false),
        ("realm_access.roles", "admin", true),
        ("realm_access.roles", "user", false),
        ("realm_access.roles.x", "*", false),
        ("realm_access", "admin", false),
        ("https://example.org/roles", "editor", true),
        ("nested", "staff", false),
        ("empty", "*", true),
        ("", "*", false),
        (".", "*", false),
    ] {
        assert_eq!(said.have(claim, value), applies, "{claim} {value}");
    }
}

#[test]
fn the_first_rule_that_applies_counts() {
    let policy = ProviderPolicy {
        rules: vec![
            rule("groups", "admins", OrganizationRole::Admin),
            rule("groups", "staff", OrganizationRole::Member),
        ],
        ..ProviderPolicy::default()
    };
    let role =
        |groups: Value| policy.admit(&claims(&json!({ "groups": groups }))).map(|rule| rule.unwrap().role);
    assert_eq!(role(json!(["staff", "admins"])), Ok(OrganizationRole::Admin));
    assert_eq!(role(json!(["staff"])), Ok(OrganizationRole::Member));
    assert_eq!(role(json!([])), Err(NotAdmitted::NoRule));
    assert_eq!(policy.admit(&Claims::default()), Err(NotAdmitted::NoRule));
    assert_eq!(ProviderPolicy::default().admit(&Claims::default()), Ok(None), "everybody");
}

#[test]
fn accounts_are_linked_and_created_only_as_allowed() {
    let ann = UserId::new(Uuid::from_u128(1));
    let verified = ProvidedEmail { address: "ann@example.org".to_owned(), is_verified: true };
    let claimed = ProvidedEmail { is_verified: false, ..verified.clone() };
    let (good, bad, none) = (Some(&verified), Some(&claimed), None);
    let (link, create) = (Ok(FirstLogIn::Link(ann)), Ok(FirstLogIn::Create));
    for (creates, links, email, holder, decided) in [
        (false, false, good, Some(ann), Err(NotAdmitted::NoAccount)),
        (false, false, good, None, Err(NotAdmitted::NoAccount)),
        (false, false, none, None, Err(NotAdmitted::NoAccount)),
        (false, true, good, Some(ann), link),
        (false, true, bad, Some(ann), Err(NotAdmitted::EmailUnverified)),
        (false, true, good, None, Err(NotAdmitted::NoAccount)),
        (true, false, good, Some(ann), Err(NotAdmitted::EmailTaken)),
        (true, false, bad, Some(ann), Err(NotAdmitted::EmailUnverified)),
        (true, false, good, None, create),
        (true, false, bad, None, Err(NotAdmitted::EmailUnverified)),
        (true, false, none, None, Err(NotAdmitted::NoEmail)),
        (true, true, good, Some(ann), link),
        (true, true, bad, Some(ann), Err(NotAdmitted::EmailUnverified)),
        (true, true, good, None, create),
    ] {
        let policy =
            ProviderPolicy { creates_accounts: creates, links_by_email: links, ..ProviderPolicy::default() };
        assert_eq!(policy.decide(email, holder), decided, "{creates} {links} {email:?} {holder:?}");
    }
}

#[test]
fn an_address_is_verified_only_if_the_provider_says_so() {
    let trusting = ProviderPolicy { trusts_email: true, ..ProviderPolicy::default() };
    for (flag, strict, trusted) in [
        (json!(true), true, true),
        (json!("true"), true, true),
        (json!(false), false, false),
        (json!("false"), false, false),
        (json!(1), false, false),
        (json!(null), false, true),
    ] {
        let said = claims(&json!({"email": "ann@example.org", "email_verified": flag}));
        let is_verified = |policy| said.email(policy).unwrap().is_verified;
        assert_eq!(
            (is_verified(&ProviderPolicy::default()), is_verified(&trusting)),
            (strict, trusted),
            "{flag}"
        );
    }
    let said = claims(&json!({"email": "ann@example.org"}));
    assert!(!said.email(&ProviderPolicy::default()).unwrap().is_verified);
    assert!(said.email(&trusting).unwrap().is_verified);
    for bad in [json!(""), json!("ann"), json!(["ann@example.org"]), json!(7), json!("a b@x")] {
        assert_eq!(claims(&json!({"email": bad, "email_verified": true})).email(&trusting), None, "{bad}");
    }
}

#[test]
fn people_have_names() {
    let name = |value| claims(&value).name("ann@example.org").unwrap().full();
    assert_eq!(name(json!({"name": " Ann Lee ", "given_name": "A"})), "Ann Lee");
    assert_eq!(name(json!({"given_name": "Ann", "family_name": "Lee"})), "Ann Lee");
    assert_eq!(name(json!({"name": "\n", "family_name": "Lee"})), "Lee");
    assert_eq!(name(json!({"name": 7})), "ann");
}

#[test]
fn handles_are_made_of_what_is_there() {
    let first =
        |wished: &str| candidates(&claims(&json!({"preferred_username": wished})), "x@y").next().unwrap();
    for (wished, handle) in [
        ("Ann.Lee", "ann.lee"),
        ("ann@example.org", "ann"),
        ("ann--lee__", "ann-lee"),
        (".ann.", "ann"),
        ("Bo", "user-bo"),
        ("\u{c4}nn", "user-nn"),
        ("\u{5f20}\u{4e09}", "user"),
        ("DOMAIN\\ann", "domain-ann"),
        ("a.b-c", "a.b-c"),
    ] {
        assert_eq!(first(wished).as_str(), handle, "{wished}");
    }
    let long = "abcdefghijklmnopqrstuvwxyz0123456789";
    let tried = candidates(&claims(&json!({"preferred_username": long})), "x@y").collect::<Vec<_>>();
    assert_eq!(tried.len(), 50);
    assert_eq!(tried[0].as_str(), &long[..26]);
    assert_eq!(tried[49].as_str(), format!("{}-50", &long[..26]));
    assert_eq!(candidates(&Claims::default(), "ann.lee@example.org").next().unwrap().as_str(), "ann.lee");
}
