//! `/api/v1/operator`: who may use it, and what it shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::App;
use actix_web::http::Method;
use actix_web::test::{TestRequest, init_service};
use actix_web::web::Data;
use async_trait::async_trait;
use domain::account::{
    CreateKey, CreateUser, Disconnect, EndReason, InitialOrganization, KeyScope, LastDisconnect, UserHandle,
    parse_email, parse_person_name,
};
use domain::id::{NodeId, ParticipantId};
use domain::login::{CONFIRMED_FOR, Password, SessionKind};
use domain::operator::{
    Condition, Counts, Finding, OpenSocket, OperatorService, STEP, Series, ServerFacts, ServerProbe,
    StoreKind,
};
use domain::plan::{Plan, PlanName};
use domain::ports::Clock;
use domain::time::Timestamp;
use http_human::{RecentAnswers, configure_operator};
use http_wire::limit::RateLimitConfig;
use http_wire::request_scope::RequestScope;
use serde_json::{Value, json};
use testkit::World;

use crate::harness::{Answer, Api, call};

const NODE: NodeId = NodeId::NIL;

/// A server with these sockets.
struct FixedProbe {
    sockets: Vec<OpenSocket>,
    /// Grows by three with each look.
    pushes: AtomicU64,
}

#[async_trait]
impl ServerProbe for FixedProbe {
    fn node(&self) -> Option<NodeId> {
        Some(NODE)
    }

    fn facts(&self) -> ServerFacts {
        ServerFacts {
            version: "1.2.3",
            commit: "abc",
            uptime: Duration::from_secs(61),
            store: StoreKind::Memory,
            user_sockets: 2,
            agent_sockets: 1,
        }
    }

    async fn condition(&self) -> Condition {
        let fault = Finding {
            check: "disk",
            outcome: "fault",
            found: "it is full".to_owned(),
            next: Some("free some space".to_owned()),
        };
        Condition { is_bus_connected: Some(false), is_disk_short: true, findings: vec![fault] }
    }

    fn counts(&self) -> Counts {
        let pushes = self.pushes.fetch_add(3, Ordering::Relaxed);
        Counts::default().with(Series::Pushes, pushes).with(Series::UserSockets, 2)
    }

    fn sockets(&self, before: u64, limit: usize) -> Vec<OpenSocket> {
        self.sockets.iter().copied().filter(|socket| socket.number < before).take(limit).collect()
    }
}

/// A server that starts now.
fn service(api: &Api) -> Arc<OperatorService> {
    let socket = |number, who| OpenSocket { number, who, began_at: at(number), queued_bytes: 10 * number };
    let ann = ParticipantId::User(api.ann.id);
    let sockets = vec![socket(7, ParticipantId::Agent(api.helper.id)), socket(3, ann), socket(1, ann)];
    let (world, probe) = (&api.world, FixedProbe { sockets, pushes: AtomicU64::new(5) });
    Arc::new(OperatorService::new(
        Arc::new(probe),
        world.stores.status.clone(),
        world.administration.clone(),
        world.work.clone(),
        world.clock.clone(),
    ))
}

/// The world of the other tests, with an operator.
struct Scene {
    api: Api,
    /// The key of the operator.
    root: String,
    service: Arc<OperatorService>,
    answers: Data<RecentAnswers>,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new();
        let command = CreateUser {
            handle: UserHandle::new("root").unwrap(),
            email: parse_email("root@example.org").unwrap(),
            name: parse_person_name("Root").unwrap(),
            initial_organization: InitialOrganization::Own,
            plan: PlanName::enterprise(),
        };
        let key = world.accounts.mint_user_key();
        world.accounts.create_first_user(command, &key).await.unwrap().unwrap();
        let api = Api::in_world(world).await;
        let clock: Arc<dyn Clock> = api.world.clock.clone();
        let answers = Data::new(RecentAnswers::new(&clock));
        Self { root: key.reveal().to_owned(), service: service(&api), answers, api }
    }

    fn restart(&mut self) {
        self.api.world.clock.advance(Duration::from_secs(1));
        self.service = service(&self.api);
    }

    async fn call(&self, key: &str, method: Method, path: &str) -> Answer {
        self.send(key, method, path, None).await
    }

    async fn send(&self, key: &str, method: Method, path: &str, body: Option<Value>) -> Answer {
        let app = App::new()
            .wrap(RequestScope)
            .configure(|config| self.api.register(config, RateLimitConfig::off()))
            .app_data(Data::from(self.service.clone()))
            .app_data(self.answers.clone())
            .configure(configure_operator);
        let request = TestRequest::with_uri(&format!("/api/v1/operator{path}"));
        // The key, or an access token.
        let header = if key.starts_with("thnv_") {
            ("x-api-key", key.to_owned())
        } else {
            ("authorization", format!("Bearer {key}"))
        };
        let request = request.method(method).insert_header(header);
        let request = if let Some(body) = body { request.set_json(body) } else { request };
        call(&init_service(app).await, request).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.call(&self.root, Method::GET, path).await
    }

    async fn post(&self, path: &str) -> Answer {
        self.call(&self.root, Method::POST, path).await
    }
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(second))
}

const LISTS: [&str; 8] =
    ["/users", "/agents", "/work", "/organizations", "/plans", "/connections", "/disconnects", "/audit"];

#[actix_web::test]
async fn only_operators_with_full_credentials_come_in() {
    let scene = Scene::new().await;
    let root = UserHandle::new("root").unwrap();
    let operator = scene.api.world.stores.accounts.find_user_by_handle(&root).await.unwrap().unwrap().id;
    let limited = KeyScope { is_read_only: true, ..KeyScope::default() };
    let limited = CreateKey { scope: limited, ..CreateKey::default() };
    let limited = scene.api.world.accounts.create_key(operator, limited).await.unwrap();
    let (ann, helper) = (&scene.api.ann.key, &scene.api.helper.key);
    for path in LISTS.into_iter().chain(["/overview", "/throughput", "/nothing"]) {
        for (key, expected) in [
            ("thnv_u_unknown", (401, "unauthorized")),
            (ann, (403, "forbidden")),
            (helper, (403, "forbidden")),
            (limited.key.reveal(), (403, "forbidden")),
        ] {
            assert_eq!(scene.call(key, Method::GET, path).await.code(), expected, "{path}");
        }
    }
    assert_eq!(scene.get("/nothing").await.code(), (404, "not_found"));
    let disable = format!("/users/{}/disable", scene.api.bob.id);
    assert_eq!(scene.call(ann, Method::POST, &disable).await.code(), (403, "forbidden"));
    assert_eq!(scene.call(&scene.api.bob.key, Method::GET, "/users").await.code(), (403, "forbidden"));
}

#[actix_web::test]
async fn accounts_are_listed_disabled_and_enabled() {
    let scene = Scene::new().await;
    let users = scene.get("/users?limit=2").await;
    assert_eq!((users.status, users.column("handle")), (200, vec!["ann", "bob"]));
    let cursor = users.body["metadata"]["next_cursor"].as_str().unwrap();
    let users = scene.get(&format!("/users?limit=2&cursor={cursor}")).await;
    let root = &users.data()[0];
    assert_eq!(
        users.data(),
        &json!([{
            "id": root["id"], "handle": "root", "name": "Root", "email": "root@example.org", "role": "admin",
            "organization_id": root["organization_id"], "organization_role": "admin",
            "inserted_at": scene.api.now(), "disabled_at": null,
        }])
    );
    assert_eq!(users.body["metadata"]["has_more"], false);
    let agents = scene.get("/agents").await;
    assert_eq!(agents.column("handle"), ["ann/helper", "ann/scout", "bob/rival"]);
    assert_eq!(agents.data()[2]["owner_id"], scene.api.bob.id.to_string());
    assert_eq!(
        (&agents.data()[0]["connected"], &agents.data()[0]["work"]["open"]),
        (&json!(false), &json!(0))
    );

    let (bob, helper) = (scene.api.bob.id.to_string(), scene.api.helper.id.to_string());
    for path in [format!("/users/{bob}"), format!("/agents/{helper}")] {
        for verb in ["disable", "disable", "enable", "disable"] {
            scene.api.world.clock.advance(Duration::from_secs(1));
            let done = scene.post(&format!("{path}/{verb}")).await;
            assert_eq!((done.status, &done.body), (204, &Value::Null), "{path} {verb}");
        }
    }
    let (users, agents) = (scene.get("/users").await, scene.get("/agents").await);
    let earlier = scene.api.world.clock.now().minus(Duration::from_secs(4));
    assert_eq!(users.data()[1]["disabled_at"], earlier.to_string());
    assert_eq!(agents.data()[0]["disabled_at"], scene.api.now());
    let audit = scene.get("/audit?limit=1").await;
    assert_eq!(
        (&audit.data()[0]["action"], &audit.data()[0]["actor"]["name"]),
        (&json!("account.disabled"), &json!("root"))
    );

    let own = scene.post(&format!("/users/{}/disable", root["id"].as_str().unwrap())).await;
    assert_eq!(own.code(), (409, "conflict"));
    // An id of the other kind, one of nobody, and one that is none.
    for id in [helper.as_str(), "0190c5a4-0000-7000-8000-0000000000a1", "bob"] {
        assert_eq!(scene.post(&format!("/users/{id}/disable")).await.code(), (404, "not_found"));
    }
    assert_eq!(scene.post(&format!("/agents/{bob}/enable")).await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn accounts_are_found_by_a_part_of_the_name_or_handle() {
    let scene = Scene::new().await;
    assert_eq!(scene.get("/users?q=OT").await.column("handle"), ["root"]);
    assert_eq!(scene.get("/users?q=").await.column("handle"), ["ann", "bob", "root"]);
    assert_eq!(scene.get("/users?q=ann/").await.column("handle"), Vec::<&str>::new());
    assert_eq!(scene.get("/agents?q=rival").await.column("handle"), ["bob/rival"]);
    let first = scene.get("/agents?q=ann/&limit=1").await;
    assert_eq!(first.column("handle"), ["ann/helper"]);
    let cursor = first.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = scene.get(&format!("/agents?q=ann/&limit=1&cursor={cursor}")).await;
    assert_eq!(rest.column("handle"), ["ann/scout"]);
    assert_eq!(rest.body["metadata"]["has_more"], false);
    let other = scene.get(&format!("/agents?q=bob&cursor={cursor}")).await;
    assert_eq!(other.code(), (422, "cursor_filter_mismatch"));
    let long = scene.get(&format!("/users?q={}", "a".repeat(202))).await;
    assert_eq!(long.refusal(), (422, "validation_error", vec!["/q"]));
}

/// A session that was left open alone takes nothing from others.
#[actix_web::test]
async fn a_session_that_began_a_while_ago_disables_nobody_without_the_password() {
    let scene = Scene::new().await;
    let (api, world) = (&scene.api, &scene.api.world);
    let reset = world.logins.issue_reset(&UserHandle::new("root").unwrap()).await.unwrap();
    let password = Password::new("correct horse".to_owned()).unwrap();
    let open = world.logins.reset_password(&reset.token, password, SessionKind::Browser).await.unwrap();
    let token = &open.access.token;
    world.clock.advance(CONFIRMED_FOR);
    let plan = |current: &str| json!({"organization": {"plan": "enterprise", "current_password": current}});
    let just = |current: &str| json!({"current_password": current});
    let (user, agent) = (format!("/users/{}", api.bob.id), format!("/agents/{}", api.helper.id));
    let organization = format!("/organizations/{}", api.ann.caller.organization);
    for (method, path, right, wrong, at) in [
        (
            Method::POST,
            format!("{user}/disable"),
            just("correct horse"),
            just("battery"),
            "/current_password",
        ),
        (
            Method::POST,
            format!("{agent}/disable"),
            just("correct horse"),
            just("battery"),
            "/current_password",
        ),
        (
            Method::PATCH,
            organization,
            plan("correct horse"),
            plan("battery"),
            "/organization/current_password",
        ),
    ] {
        let refused = scene.send(token, method.clone(), &path, Some(wrong)).await;
        assert_eq!(refused.refusal(), (422, "validation_error", vec![at]), "{path}");
        assert_eq!(scene.send(token, method, &path, Some(right)).await.status, 204, "{path}");
    }
    // Without any, and for what gives back.
    let disable = format!("{user}/disable");
    let refused = scene.call(token, Method::POST, &disable).await;
    assert_eq!(refused.refusal(), (422, "validation_error", vec!["/current_password"]));
    assert_eq!(scene.call(token, Method::POST, &format!("{user}/enable")).await.status, 204);
    assert_eq!(scene.post(&disable).await.status, 204, "with a key");
}

/// Figures and names only: what was written is nowhere.
#[actix_web::test]
async fn work_is_shown_without_contents() {
    let scene = Scene::new().await;
    let api = &scene.api;
    assert_eq!(scene.get("/work").await.data(), &json!([]));
    let titled = json!({"chat": {"title": "A secret title"}});
    let made = api.call(&api.ann.key, Method::POST, "/chats", &titled).await;
    let chat = domain::id::ChatId::parse(made.data()["id"].as_str().unwrap()).unwrap();
    let renamed = api.call(&api.ann.key, Method::PATCH, &format!("/chats/{chat}"), &titled).await;
    assert_eq!(renamed.status, 200);
    api.add(api.ann.caller, chat, api.helper.id.into(), domain::chat::Role::Member).await;
    let message = api.mention(api.ann.caller, chat, &api.helper, "a secret plan").await;
    let dead = format!("/work/{message}/{}/dead-letter", api.helper.id);
    let reason = json!({"if_state": "new", "reason": "a secret reason"});
    assert_eq!(api.call(&api.ann.key, Method::POST, &dead, &reason).await.status, 200);
    let retry = format!("/work/{message}/{}/retry", api.helper.id);
    assert_eq!(api.call(&api.ann.key, Method::POST, &retry, &json!({"if_state": "dead"})).await.status, 200);
    let written = api.now();
    api.world.clock.advance(Duration::from_secs(600));
    let work = scene.get("/work").await;
    let expected = json!({
        "open": 1, "unanswered": 1, "stuck": 0, "failing": 0, "dead": 0, "held": 0, "oldest_at": written,
    });
    assert_eq!((work.column("handle"), &work.data()[0]["work"]), (vec!["ann/helper"], &expected));
    for path in LISTS.into_iter().chain(["/overview"]) {
        let shown = scene.get(path).await;
        assert_eq!(shown.status, 200, "{path}");
        assert!(!shown.body.to_string().contains("secret"), "{path}");
    }
}

#[actix_web::test]
async fn organizations_are_listed_with_what_they_use() {
    let scene = Scene::new().await;
    scene.api.empty_room(scene.api.ann.caller).await;
    let listed = scene.get("/organizations?limit=1").await;
    let row = &listed.data()[0];
    assert_eq!((&row["name"], &row["members"]), (&json!("ann"), &json!(1)));
    assert_eq!(row["used"], json!({"agents": 2, "chats": 1, "bytes": 0}));
    let plan = (&row["plan"]["name"], &row["plan"]["agents"], &row["pause"]);
    assert_eq!(plan, (&json!("enterprise"), &Value::Null, &Value::Null));
    let cursor = listed.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = scene.get(&format!("/organizations?limit=5&cursor={cursor}")).await;
    assert_eq!(rest.column("name"), ["bob", "root"]);
}

#[actix_web::test]
async fn an_organization_is_given_another_plan() {
    let scene = Scene::new().await;
    let small = Plan { agents: Some(3), name: PlanName::new("small").unwrap(), ..Plan::enterprise() };
    scene.api.world.plans.configure(vec![small]).await.unwrap();
    let plans = scene.get("/plans").await;
    let named = |row: &Value| (row["name"].clone(), row["agents"].clone(), row["organizations"].clone());
    let rows = plans.data().as_array().unwrap().iter().map(named).collect::<Vec<_>>();
    assert_eq!(rows, [(json!("enterprise"), Value::Null, json!(3)), (json!("small"), json!(3), json!(0))]);
    let path = format!("/organizations/{}", scene.api.ann.caller.organization);
    let patch = async |path: &str, plan: &str| {
        let body = json!({"organization": {"plan": plan}});
        scene.send(&scene.root, Method::PATCH, path, Some(body)).await
    };
    scene.api.world.clock.advance(Duration::from_secs(1));
    assert_eq!(patch(&path, "small").await.status, 204);
    assert_eq!(scene.get("/organizations?limit=1").await.data()[0]["plan"]["name"], "small");
    let entry = &scene.get("/audit?limit=1").await.data()[0].clone();
    assert_eq!(
        (&entry["action"], &entry["actor"]["name"], &entry["detail"]),
        (&json!("plan.set"), &json!("root"), &json!("small"))
    );
    for plan in ["unknown", "No plan", ""] {
        let refused = patch(&path, plan).await;
        assert_eq!(refused.code(), (422, "validation_error"), "{plan}");
        assert!(refused.body["error"]["details"]["/organization/plan"].is_array(), "{}", refused.body);
    }
    let nowhere = "/organizations/0190c5a4-0000-7000-8000-0000000000a1";
    assert_eq!(patch(nowhere, "small").await.code(), (404, "not_found"));
}

#[actix_web::test]
async fn a_key_of_anybody_is_revoked() {
    let scene = Scene::new().await;
    let keys = scene.api.call(&scene.api.ann.key, Method::GET, "/api-keys", &Value::Null).await;
    let path = format!("/keys/{}", keys.data()[0]["id"].as_str().unwrap());
    scene.api.world.clock.advance(Duration::from_secs(1));
    let revoked = scene.call(&scene.root, Method::DELETE, &path).await;
    assert_eq!((revoked.status, &revoked.data()["id"]), (200, &keys.data()[0]["id"]));
    let refused = scene.api.call(&scene.api.ann.key, Method::GET, "/api-keys", &Value::Null).await;
    assert_eq!(refused.code(), (401, "unauthorized"));
    assert_eq!(scene.call(&scene.root, Method::DELETE, &path).await.code(), (404, "not_found"));
    let entry = &scene.get("/audit?limit=1").await.data()[0].clone();
    assert_eq!((&entry["action"], &entry["actor"]["name"]), (&json!("key.revoked"), &json!("root")));
}

#[actix_web::test]
async fn connections_are_shown_while_they_last_and_after() {
    let mut scene = Scene::new().await;
    let open = scene.get("/connections?limit=2").await;
    let api = &scene.api;
    let (helper, ann) = (api.helper.id.to_string(), api.ann.id.to_string());
    let row = |kind: &str, id: &str, handle: &str, name: &str, number: u64| {
        json!({
            "type": kind, "id": id, "handle": handle, "name": name, "began_at": at(number).to_string(),
            "queued_bytes": 10 * number,
        })
    };
    let expected =
        json!([row("Agent", &helper, "ann/helper", "Helper", 7), row("User", &ann, "ann", "ann Example", 3)]);
    assert_eq!((open.data(), &open.body["metadata"]["node_id"]), (&expected, &json!(NODE.to_string())));
    let cursor = open.body["metadata"]["next_cursor"].as_str().unwrap();
    let rest = scene.get(&format!("/connections?limit=2&cursor={cursor}")).await;
    assert_eq!(rest.data(), &json!([row("User", &ann, "ann", "ann Example", 1)]));
    assert_eq!(rest.body["metadata"]["has_more"], false);
    assert_eq!(scene.get("/disconnects").await.data(), &json!([]));
    let now = api.world.clock.now();
    let last = LastDisconnect { at: now, reason: EndReason::SlowConsumer };
    let ended = Disconnect { agent: api.helper.id, began_at: Some(at(7)), last };
    api.world.accounts.note_disconnects(vec![ended]).await.unwrap();
    let ended = scene.get("/disconnects").await;
    let expected = json!([{
        "agent_id": helper, "handle": "ann/helper", "name": "Helper", "began_at": at(7).to_string(),
        "ended_at": now.to_string(), "reason": "slow_consumer",
    }]);
    assert_eq!(ended.data(), &expected);

    // After a restart, sockets have other numbers.
    scene.restart();
    let stale = scene.get(&format!("/connections?limit=2&cursor={cursor}")).await;
    assert_eq!(stale.code(), (422, "validation_error"));
}

#[actix_web::test]
async fn the_server_is_shown_at_a_glance() {
    let scene = Scene::new().await;
    let overview = scene.get("/overview").await;
    let size = &overview.data()["store"]["size_bytes"];
    assert!(size.as_u64().unwrap() > 0);
    let expected = json!({
        "version": "1.2.3", "commit": "abc", "uptime_seconds": 61, "node_id": NODE.to_string(),
        "store": {"kind": "memory", "size_bytes": size}, "sockets": {"users": 2, "agents": 1},
        "nats_connected": false, "disk_short": true, "nodes": [], "cluster": null,
        "findings": [
            {"check": "disk", "outcome": "fault", "found": "it is full", "next": "free some space"}
        ],
        "totals": {
            "organizations": 3, "paused_organizations": 0, "users": 3, "agents": 3, "chats": 0, "messages": 0,
        },
        "work": {
            "open": 0, "unanswered": 0, "stuck": 0, "failing": 0, "dead": 0, "held": 0, "oldest_at": null,
        },
    });
    assert_eq!((overview.status, overview.data()), (200, &expected));
}

#[actix_web::test]
async fn throughput_is_shown_in_steps() {
    let scene = Scene::new().await;
    let none = scene.get("/throughput").await;
    assert_eq!((&none.data()["until"], &none.data()["series"]["pushes"]), (&Value::Null, &json!([])));
    for _ in 0..3 {
        scene.service.record_throughput();
        scene.api.world.clock.advance(STEP);
    }
    let shown = scene.get("/throughput").await;
    let data = shown.data();
    assert_eq!((&data["node_id"], &data["step_seconds"]), (&json!(NODE.to_string()), &json!(10)));
    let until = scene.api.world.clock.now().minus(STEP);
    assert_eq!(data["until"], until.to_string());
    let series = data["series"].as_object().unwrap();
    assert_eq!(series.len(), Series::ALL.len());
    assert_eq!((&series["pushes"], &series["user_sockets"]), (&json!([3, 3]), &json!([2, 2])));
}
