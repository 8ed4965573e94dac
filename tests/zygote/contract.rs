//! The contract between menace and the harness: the real harness answers every request with the reply that menace
//! expects.

use std::fs;

use menace_model::calls::{CallSpec, RawOutcome, Recipe, SectionDescription};
use menace_model::harness::{
    BatchReply, BatchRequest, BuildRequest, CallReply, CallRequest, CallResult, DescribeRequest,
    HarnessReply, HarnessRequest, MetricsPluginRequest, ModuleFixture, PluginResources, PluginSection,
    RequestKind, StagedReply, StubPluginRequest, WorkflowFixtures, WorkflowRequest,
};
use serde_json::json;

use super::{ZygoteFixture, reply_of};

const MODULE: &str = r#"
import socket

class Cart:
    def __init__(self, owner: str):
        self.items = []

    def add(self, name: str, count: int = 1) -> int:
        """Adds items.

        >>> Cart("a").add("apple")
        1
        """
        self.items.append(name)
        return len(self.items) * count

def doubled(number: int) -> int:
    """
    >>> doubled(2)
    5
    """
    return number * 2

def broken(values):
    values.append(1)
    return values["a"]

def connects():
    with socket.socket() as client:
        client.settimeout(0.1)
        try:
            client.connect(("127.0.0.1", 9))
        except OSError:
            pass
    with open("/tmp/a", "w"):
        pass
"#;

const STUB_PLUGIN: &str = "def generate_stubs(stubs, context):\n    return stubs + [{'number': 3}]\n";
const METRICS_PLUGIN: &str = "\
def register(manager, tracker):
    tracker.record_metric_prediction('margin', manager.registry['menace'].bot.predict_metric('roi'))

def collect_metrics(prev_roi, roi, resources):
    return {'margin': roi - prev_roi, 'calls': resources['calls']}
";

async fn fixture_with(file: &str, source: &str) -> ZygoteFixture {
    ZygoteFixture::with(|options| fs::write(options.repository.join(file), source).unwrap()).await
}

fn call(function: &str, arguments: Vec<Recipe>) -> CallRequest {
    CallRequest { module: "contract".into(), function: function.into(), arguments, ..CallRequest::default() }
}

async fn outcome(fixture: &ZygoteFixture, request: HarnessRequest) -> RawOutcome {
    fixture.zygote.call(&CallSpec::new(request)).await.unwrap()
}

async fn reply(fixture: &ZygoteFixture, request: HarnessRequest) -> HarnessReply {
    outcome(fixture, request).await.reply.unwrap()
}

async fn called(fixture: &ZygoteFixture, request: CallRequest) -> CallReply {
    reply_of(outcome(fixture, HarnessRequest::Call(request)).await)
}

pub(super) async fn every_request_has_its_reply() {
    let fixture = fixture_with("contract.py", MODULE).await;
    for kind in RequestKind::ALL {
        match kind {
            RequestKind::Call => calls(&fixture).await,
            RequestKind::Examples => examples(&fixture).await,
            RequestKind::Describe => descriptions(&fixture).await,
            RequestKind::Build => constructions(&fixture).await,
            RequestKind::Workflow => workflows(&fixture).await,
            RequestKind::StubPlugin => stub_plugins(&fixture).await,
            RequestKind::MetricsPlugin => metrics_plugins(&fixture).await,
            RequestKind::Batch => batches(&fixture).await,
        }
    }
}

async fn calls(fixture: &ZygoteFixture) {
    let done = called(fixture, call("doubled", vec![Recipe::Int(2)])).await;
    let value = done.returned().unwrap();
    assert_eq!((value.text.as_deref(), value.json.clone()), (Some("4"), Some(json!(4))));
    assert!(done.took_ms.is_some() && done.seen.is_some(), "{done:?}");

    let watched = CallRequest { watch: true, traceback: true, ..call("broken", vec![Recipe::list([])]) };
    let raised = called(fixture, watched).await;
    let CallResult::Raised { error, changed } = &raised.result else { panic!("{raised:?}") };
    assert!(*changed && error.is_a("TypeError") && !error.raised, "{error:?}");
    assert!(error.traceback.as_ref().unwrap().contains("contract.py"));

    let missing = called(fixture, call("Cart.remove", Vec::new())).await;
    assert!(matches!(&missing.result, CallResult::NotFound(why) if why.contains("remove")), "{missing:?}");

    let cart = |arguments| Recipe::New { class: "contract:Cart".into(), arguments, keywords: Vec::new() };
    let add = call("Cart.add", vec![Recipe::text("apple")]);
    let unbuilt = called(fixture, CallRequest { owner: Some(cart(Vec::new())), ..add.clone() }).await;
    assert!(
        matches!(&unbuilt.result, CallResult::NotBuilt(why) if why.contains("contract:Cart")),
        "{unbuilt:?}"
    );

    let keywords = vec![("count".to_owned(), Recipe::Int(3))];
    let owned = CallRequest { owner: Some(cart(vec![Recipe::text("a")])), keywords, ..add };
    assert_eq!(called(fixture, owned).await.returned().unwrap().json, Some(json!(3)));

    let imported = called(fixture, CallRequest { module: "broken".into(), ..call("x", Vec::new()) }).await;
    assert!(
        matches!(&imported.result, CallResult::ImportFailed(error) if error.is_a("ImportError")),
        "{imported:?}"
    );

    let observed = called(fixture, CallRequest { cover: true, ..call("connects", Vec::new()) }).await;
    let seen = observed.seen.unwrap();
    assert_eq!((seen.files, seen.connections), (1, 1), "{seen:?}");
    assert_eq!((seen.written.len(), seen.addresses.len()), (1, 1), "{seen:?}");
    assert!(seen.lines.unwrap()["contract.py"].len() > 3);

    let burst = CallRequest { threads: Some(3), tasks: Some(2), ..call("doubled", vec![Recipe::Int(2)]) };
    let burst = called(fixture, burst).await;
    assert!(burst.overlapping.is_some() && burst.finished.unwrap() >= 3, "{burst:?}");

    let strained = CallRequest { load: Some(2), ..call("doubled", vec![Recipe::Int(2)]) };
    assert!(called(fixture, strained).await.starved.is_some());

    let timed = CallRequest { timed: true, ..call("doubled", vec![Recipe::Int(2)]) };
    assert!(called(fixture, timed).await.took_ms.is_some());

    let across = called(fixture, CallRequest { across: Some(0.05), ..call("connects", Vec::new()) }).await;
    let repeats = across.seen.unwrap().repeats;
    assert!(repeats.len() > 1 && repeats.iter().all(|call| call.succeeded), "{repeats:?}");
}

async fn examples(fixture: &ZygoteFixture) {
    let examples = async |function| {
        reply_of(outcome(fixture, HarnessRequest::Examples(call(function, Vec::new()))).await).result
    };
    assert!(matches!(examples("Cart.add").await, CallResult::Returned(_)));
    let differs = examples("doubled").await;
    assert!(matches!(&differs, CallResult::ExampleDiffers(why) if why.contains('5')), "{differs:?}");
}

async fn descriptions(fixture: &ZygoteFixture) {
    let describe = |module: &str| {
        let sections = vec!["Cart.add".to_owned(), "gone".to_owned()];
        HarnessRequest::Describe(DescribeRequest { module: module.into(), sections })
    };
    let HarnessReply::Describe(reply) = reply(fixture, describe("contract")).await else { panic!() };
    let sections = &reply.done().unwrap().sections;
    let SectionDescription::Callable { binding, parameters, owner, examples, reads, .. } =
        &sections["Cart.add"]
    else {
        panic!("{sections:?}")
    };
    assert_eq!((binding.as_str(), parameters.len(), *examples), ("instance", 2, 1));
    assert!(owner.is_some() && !reads.is_empty());
    assert!(matches!(sections["gone"], SectionDescription::Missing { .. }));
    let HarnessReply::Describe(failed) = self::reply(fixture, describe("broken")).await else { panic!() };
    assert!(matches!(failed, StagedReply::Import { .. }), "{failed:?}");
}

async fn constructions(fixture: &ZygoteFixture) {
    let class = |arguments| Recipe::New { class: "contract:Cart".into(), arguments, keywords: Vec::new() };
    let recipes = vec![class(vec![Recipe::text("a")]), class(Vec::new()), Recipe::None];
    let build_in = |module: &str| {
        HarnessRequest::Build(BuildRequest { module: module.into(), recipes: recipes.clone() })
    };
    let HarnessReply::Build(built) = reply(fixture, build_in("contract")).await else { panic!() };
    assert_eq!(built.done().unwrap().made, [true, false, true]);
    let HarnessReply::Build(failed) = reply(fixture, build_in("broken")).await else { panic!() };
    assert!(matches!(failed, StagedReply::Import { .. }), "{failed:?}");
}

async fn workflows(fixture: &ZygoteFixture) {
    let mut fixtures = WorkflowFixtures::default();
    fixtures.0.insert("contract".into(), ModuleFixture::default());
    fixtures.file("data/a.txt", "a");
    fixtures.variable("MODE", "test");
    let steps = vec![
        call("doubled", vec![Recipe::Int(1)]),
        call("broken", vec![Recipe::list([])]),
        call("doubled", vec![Recipe::Int(2)]),
    ];
    let workflow = |off| {
        let (steps, fixtures) = (steps.clone(), fixtures.clone());
        HarnessRequest::Workflow(WorkflowRequest { steps, seed: 1, off, fixtures, safe_mode: true })
    };
    let HarnessReply::Workflow(on) = reply(fixture, workflow(false)).await else { panic!() };
    let made = &on.done().unwrap().steps;
    assert_eq!(made.len(), 2, "the workflow ends with the step that fails");
    assert!(made[0].returned().is_some() && made[0].peak_bytes.is_some(), "{made:?}");
    assert!(made[1].exception().is_some_and(|error| error.is_a("TypeError")), "{made:?}");
    let HarnessReply::Workflow(off) = reply(fixture, workflow(true)).await else { panic!() };
    assert_eq!(off.done().unwrap().steps.len(), 3);
}

async fn stub_plugins(fixture: &ZygoteFixture) {
    let plugin = |source: &str| {
        let known = json!({"number": 2});
        let section = PluginSection {
            section: "contract:doubled".into(),
            module: "contract".into(),
            function: "doubled".into(),
            parameters: vec!["number".into()],
            stubs: vec![known.as_object().unwrap().clone()],
        };
        let (source, path) = (source.to_owned(), "plugin.py".to_owned());
        HarnessRequest::StubPlugin(StubPluginRequest { source, path, sections: vec![section] })
    };
    let HarnessReply::StubPlugin(made) = reply(fixture, plugin(STUB_PLUGIN)).await else { panic!() };
    assert_eq!(json!(made.done().unwrap().stubs), json!([[{"number": 2}, {"number": 3}]]));
    let HarnessReply::StubPlugin(wrong) = reply(fixture, plugin("")).await else { panic!() };
    assert!(matches!(wrong, StagedReply::Lookup { .. }), "{wrong:?}");
    let HarnessReply::StubPlugin(failed) = reply(fixture, plugin("1 / 0")).await else { panic!() };
    assert!(matches!(failed, StagedReply::Call { .. }), "{failed:?}");
}

async fn metrics_plugins(fixture: &ZygoteFixture) {
    let request = HarnessRequest::MetricsPlugin(MetricsPluginRequest {
        source: METRICS_PLUGIN.into(),
        path: "metrics.py".into(),
        prev_roi: 1.0,
        roi: 1.5,
        resources: PluginResources { cpu: 50.0, cpu_seconds: 1.0, seconds: 2.0, calls: 7 },
        roi_history: vec![1.0, 1.5],
        metrics_history: [("reliability".to_owned(), vec![0.5])].into(),
        forecasts: [("roi".to_owned(), 2.0)].into(),
    });
    let HarnessReply::MetricsPlugin(made) = reply(fixture, request).await else { panic!() };
    let made = made.done().unwrap();
    assert_eq!(json!(made.metrics), json!({"calls": 7.0, "margin": 0.5}));
    assert_eq!(json!(made.predictions), json!({"margin": 2.0}));
}

async fn batches(fixture: &ZygoteFixture) {
    // A module that cannot be imported ends the batch before its first call.
    let import = BatchRequest { module: "broken".into(), of: RequestKind::Call };
    let refused = reply(fixture, HarnessRequest::Batch(import)).await;
    let HarnessReply::Batch(BatchReply { why_not: Some(reason) }) = &refused else { panic!("{refused:?}") };
    assert!(reason.contains("ModuleNotFoundError"), "{reason}");
    let specs: Vec<CallSpec> = (0..3)
        .map(|number| CallSpec::new(HarnessRequest::Call(call("doubled", vec![Recipe::Int(number)]))))
        .collect();
    let outcomes = fixture.zygote.call_batch("contract", &specs).await.unwrap();
    let values: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| reply_of(outcome).returned().unwrap().json.clone().unwrap())
        .collect();
    assert_eq!(json!(values), json!([0, 2, 4]));
}

pub(super) async fn a_forged_reply_is_malformed() {
    let forge = "import os\n\
                 def forge(body):\n    \
                     data = body.encode()\n    \
                     os.write(3, len(data).to_bytes(4, 'little') + data)\n    \
                     os._exit(0)\n";
    let fixture = fixture_with("forge.py", forge).await;
    for body in ["[]", "{", r#"{"stage": "done", "surprise": 1}"#, r#"{"stage": "call", "error": null}"#] {
        let arguments = vec![Recipe::text(body)];
        let request = CallRequest { module: "forge".into(), ..call("forge", arguments) };
        let reply = reply(&fixture, HarnessRequest::Call(request)).await;
        assert!(!reply.is_valid(), "{body}: {reply:?}");
    }
}
