//! The paths, walked as often as is asked for and as directly as can be.
//!
//! What a walk needs is prepared for the longest one, however short it is, so that two walks differ in the
//! steps alone; and the process ends without tidying up.

use actix_http::Request;
use actix_web::Error;
use actix_web::body::{MessageBody, to_bytes};
use actix_web::dev::{Service, ServiceResponse};
use actix_web::test::TestRequest;
use clap::ValueEnum;
use domain::delivery::DeliveryStep;
use domain::id::ParticipantId;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::push;
use crate::scene::Scene;

/// Steps before those that count, so that whatever grows at first has grown.
const WARM_UP: usize = 100;

/// A path whose instructions are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Path {
    Send,
    Answer,
    Next,
    Push,
    Fanout,
}

impl Path {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Self; 5] = [Self::Send, Self::Answer, Self::Next, Self::Push, Self::Fanout];

    /// Its name among the figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Answer => "answer",
            Self::Next => "next",
            Self::Push => "push",
            Self::Fanout => "fanout",
        }
    }

    /// How many steps the longer walk has; the shorter has half of them. Start and end are never quite the
    /// same, so where a step is small there are more of them.
    pub(crate) fn longest(self) -> usize {
        match self {
            Self::Send | Self::Answer | Self::Next => 400,
            Self::Push => 4000,
            Self::Fanout => 1000,
        }
    }

    /// What one step of it is.
    pub(crate) fn step(self) -> &'static str {
        match self {
            Self::Send => "a POST of a message that mentions two agents, and its answer",
            Self::Answer => "the same, of an agent that has an attempt open",
            Self::Next => "a GET of /next with a message waiting, and its answer",
            Self::Push => "a message published, and the frame of the agent that listens",
            Self::Fanout => "a message published, and the frames of a hundred sockets",
        }
    }
}

/// How far a walk goes.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    /// How many steps are made.
    pub(crate) steps: usize,
    /// For how many everything is prepared.
    pub(crate) prepared: usize,
}

/// Walks a path of so many steps and ends the process.
pub(crate) fn run(path: Path, steps: usize) -> ! {
    log();
    let walk = Walk { steps: WARM_UP + steps, prepared: WARM_UP + path.longest() };
    actix_web::rt::System::new().block_on(async {
        let scene = Scene::new().await;
        let app = scene.app().await;
        match path {
            Path::Send => send(&scene, &app, walk).await,
            Path::Answer => answer(&scene, &app, walk).await,
            Path::Next => next(&scene, &app, walk).await,
            Path::Push => push::to_an_agent(&scene, &app, walk).await,
            Path::Fanout => push::to_humans(&scene, &app, walk).await,
        }
        // To forget what is in the store would take longer, the more there is.
        std::process::exit(0)
    })
}

/// As the server logs when nothing is configured, to nowhere.
fn log() {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::sink).with_ansi(false);
    tracing_subscriber::registry().with(EnvFilter::new("info")).with(lines).init();
}

async fn send<B: MessageBody>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    walk: Walk,
) {
    let [researcher, writer] = &scene.recipients;
    let text = format!(
        "@{} please read what the three suppliers wrote since Monday, and @{} make one page of it for the board.",
        researcher.handle, writer.handle
    );
    let body = json!({"message": {"content": text, "mentions": [
        {"id": researcher.id.to_string(), "handle": researcher.handle},
        {"id": writer.id.to_string(), "handle": writer.handle},
    ]}});
    let request =
        || scene.request(TestRequest::post(), &scene.sender, "messages").set_json(&body).to_request();
    ask(scene, app, request, 201, walk).await;
}

async fn answer<B: MessageBody>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    walk: Walk,
) {
    let (world, planner) = (&scene.world, &scene.sender);
    let mention = ParticipantId::Agent(planner.id);
    let asked = world.send(scene.ann.caller, scene.room, "Please plan the week.", &[mention]).await.id;
    world.deliveries.next(planner.caller, scene.room).await.unwrap();
    world.deliveries.advance(planner.caller, scene.room, asked, DeliveryStep::Begin).await.unwrap();
    send(scene, app, walk).await;
}

async fn next<B: MessageBody>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    walk: Walk,
) {
    let [researcher, writer] = &scene.recipients;
    let both = [ParticipantId::Agent(researcher.id), ParticipantId::Agent(writer.id)];
    scene.world.send(scene.sender.caller, scene.room, "Please read what the suppliers wrote.", &both).await;
    let request = || scene.request(TestRequest::get(), researcher, "messages/next").to_request();
    ask(scene, app, request, 200, walk).await;
}

/// Asks again and again.
async fn ask<B: MessageBody>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    request: impl Fn() -> Request,
    status: u16,
    walk: Walk,
) {
    let requests = (0..walk.prepared).map(|_| request()).collect::<Vec<_>>();
    let mut requests = requests.into_iter();
    for request in requests.by_ref().take(walk.steps) {
        scene.go_on();
        let response = app.call(request).await.unwrap();
        assert_eq!(response.status(), status);
        let body = to_bytes(response.into_body()).await;
        assert!(body.is_ok_and(|body| body.starts_with(b"{\"data\":{")));
    }
    std::mem::forget(requests);
}
