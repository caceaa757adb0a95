//! The one way out of the agent zone: an HTTPS client and a stub of a model behind it (SPEC 14.4).

mod gateway;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::story::{Project, Said, available};
use crate::support::zones::{flags, zones};

/// Answers every request over TLS with what is to be written.
const STUB: &str = r#"
import http.server, ssl, sys
class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"done\n" + b"x" * int(self.headers.get("more", "0")))
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Asks the model through the proxy, and everybody else too.
const AGENT: &str = r#"
import http.client, os, socket, ssl, sys, urllib.parse
proxy = urllib.parse.urlparse(os.environ["HTTPS_PROXY"])
def ask(host, port, name=None):
    context = ssl.create_default_context(cafile="ca.pem")
    try:
        client = http.client.HTTPSConnection(proxy.hostname, proxy.port, context=context, timeout=20)
        client.set_tunnel(host, port)
        client.request("POST", "/v1", body=b"prompt", headers={"more": os.environ.get("MORE", "0")})
        return client.getresponse().read().decode()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
def direct(host, port):
    try:
        socket.create_connection((host, port), 5)
        return "connected"
    except OSError as error:
        return type(error).__name__
port = int(os.environ["PORT"])
answer = ask("localhost", port)
with open("told", "w") as told:
    for what in [ask("localhost", port + 1), ask("evil.test", 443), ask("169.254.169.254", 80), direct("127.0.0.1", port), direct("192.0.2.1", 443)]:
        print(what, file=told)
open("product", "w").write(answer[:5])
"#;

struct Stub {
    child: Child,
    port: u16,
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A project whose agent has a model to ask. None, said aloud, where something for it is missing.
fn project() -> Option<(Project, Stub)> {
    zones()?;
    let openssl = Command::new("openssl").arg("version").output().is_ok();
    if !openssl || !available("python3") {
        eprintln!("skipped: openssl and python3 make the stub of a model");
        return None;
    }
    let mut project = Project::committed(&[("agent.py", AGENT), ("product", "open\n")]);
    let (key, certificate) = (project.outside("key.pem"), project.dir().join("ca.pem"));
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]);
    openssl
        .args(subject)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    assert!(openssl.output().unwrap().status.success());
    fs::write(project.outside("stub.py"), STUB).unwrap();
    let mut stub = Command::new("python3");
    stub.arg(project.outside("stub.py"))
        .arg(&certificate)
        .arg(&key)
        .stdout(Stdio::piped());
    let mut child = stub.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let stub = Stub {
        child,
        port: line.trim().parse().unwrap(),
    };
    project.set("PORT", stub.port.to_string());
    Some((project, stub))
}

fn asked(project: &Project, allow: &str, more: &[&str]) -> Said {
    let fast = [
        "--fast",
        "--guard-off",
        "sentinel_pair",
        "--agent-env",
        "PORT",
        "--agent-env",
        "MORE",
        "--egress-allow",
    ];
    project.run(
        "python3 agent.py",
        "grep -q done product",
        &[flags(), &fast, &[allow], more].concat(),
    )
}

fn rows(project: &Project) -> Vec<Value> {
    let report = project.json(&["report"]);
    report.json["report"]["isolation"]["egress"].as_array().unwrap().clone()
}

#[test]
fn an_agent_reaches_its_model_through_the_proxy_and_nobody_else_and_each_try_is_told() {
    let Some((project, stub)) = project() else { return };
    asked(&project, &format!("local:localhost:{}", stub.port), &[]).converged(1);
    let told = project.read("told");
    let told: Vec<&str> = told.lines().collect();
    for refused in &told[..3] {
        assert!(refused.contains("403"), "{told:?}");
    }
    assert_eq!(told[3], "ConnectionRefusedError", "{told:?}");
    assert_eq!(told[4], "OSError", "{told:?}");
    let rows = rows(&project);
    let row = |host: &str, port: u64| {
        let found = rows.iter().find(|row| row["host"] == host && row["port"] == port);
        found.unwrap_or_else(|| panic!("{host}:{port} in {rows:#?}")).clone()
    };
    let model = row("localhost", stub.port.into());
    assert_eq!((&model["allowed"], &model["connections"]), (&true.into(), &1.into()));
    assert!(
        model["bytes_in"].as_u64() > Some(100) && model["bytes_out"].as_u64() > Some(100),
        "{model}"
    );
    for (host, port) in [
        ("localhost", stub.port + 1),
        ("evil.test", 443),
        ("169.254.169.254", 80),
    ] {
        assert_eq!(row(host, port.into())["allowed"], false);
    }
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn work_that_moves_more_than_it_may_ends_the_run_as_a_budget() {
    let Some((mut project, stub)) = project() else { return };
    project.set("MORE", (4 << 20).to_string());
    let said = asked(
        &project,
        &format!("local:localhost:{}", stub.port),
        &["--egress-max", "1MiB"],
    );
    said.halted(18, "budget_exceeded", "egress_cap");
    assert!(said.why().contains("more than 1048576 bytes"), "{}", said.why());
    assert_eq!(rows(&project)[0]["reason"], "cap");
}

#[test]
fn a_list_that_cannot_be_read_lets_nothing_start() {
    let Some((project, _stub)) = project() else { return };
    for entry in ["model.test", "*.com:443", "10.0.0.1:443", "model.test:0"] {
        let said = asked(&project, entry, &[]);
        said.halted(30, "isolation_unsatisfiable", "allowlist_missing");
        assert!(said.why().contains(entry), "{}", said.why());
        assert!(!project.dir().join("told").exists());
    }
}
