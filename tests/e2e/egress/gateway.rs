//! The gateway: a Python client speaks plain HTTP to its loopback, and a model behind TLS sees the key that no zone has.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::{Stub, rows};
use crate::support::story::{Project, available};
use crate::support::zones::{flags, zones};

const KEY: &str = "sk-canary-held-outside";

/// Tells what it was asked with, and streams an answer, the second part of it once the client has asked for that.
const MODEL: &str = r#"
import http.server, json, ssl, sys, threading
more = threading.Event()
class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        more.set()
        self.send_response(204)
        self.end_headers()
    def do_POST(self):
        content = self.rfile.read(int(self.headers["content-length"])).decode()
        with open(sys.argv[3], "a") as told:
            print(json.dumps([self.path, dict(self.headers), content]), file=told)
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for part in [b"data: first\n\n", b"data: done\n\n"]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            if not more.wait(60): return
        self.wfile.write(b"0\r\n\r\n")
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Asks the model, the next part of the answer only after it has seen the one before; then asks for what it may not.
const AGENT: &str = r#"
import http.client, os, sys, urllib.parse
base = urllib.parse.urlparse(os.environ["MODEL_URL"])
def ask(method, path, headers={}, body=None):
    client = http.client.HTTPConnection(base.hostname, base.port, timeout=60)
    client.request(method, path, body=body, headers=headers)
    return client.getresponse()
answer = ask("POST", base.path + "/chat", {"authorization": "Bearer " + os.environ["MODEL_KEY"], "cookie": "mine"}, b"prompt")
first = answer.readline()
assert first == b"data: first\n", first
assert ask("GET", base.path + "/more").status == 204
rest = answer.read()
with open("told", "w") as told:
    for status in [answer.status, ask("GET", "/admin").status, ask("GET", base.path + "/../admin").status]:
        print(status, file=told)
    print(os.environ["MODEL_KEY"], file=told)
    print([name for name in os.environ if "canary" in os.environ[name]], file=told)
    print(base.scheme, base.hostname, base.path, file=told)
open("product", "w").write("done" if b"done" in rest else "open")
"#;

fn openssl(words: &[&str]) {
    let mut command = Command::new("openssl");
    let usual = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ];
    assert!(command.args(usual).args(words).output().unwrap().status.success());
}

/// A project, the model of its agent, and the flag that believes it. None, said aloud, where something is missing.
fn project() -> Option<(Project, Stub)> {
    zones()?;
    if Command::new("openssl").arg("version").output().is_err() || !available("python3") {
        eprintln!("skipped: openssl and python3 make the stub of a model");
        return None;
    }
    let mut project = Project::committed(&[("agent.py", AGENT), ("product", "open\n")]);
    let at = |file: &str| project.outside(file).to_string_lossy().into_owned();
    let (ca, ca_key, own, own_key) = (at("ca.pem"), at("ca.key"), at("own.pem"), at("own.key"));
    openssl(&["-subj", "/CN=ca", "-keyout", &ca_key, "-out", &ca]);
    let name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    let signed = [
        "-CA",
        &ca,
        "-CAkey",
        &ca_key,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ];
    openssl(&[&name[..], &signed, &["-keyout", &own_key, "-out", &own]].concat());
    fs::write(at("model.py"), MODEL).unwrap();
    let mut child = Command::new("python3")
        .args([at("model.py"), own, own_key, at("asked")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let printed = child.stdout.take().unwrap();
    BufReader::new(printed).read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    project.set("MODEL_KEY", KEY);
    Some((project, Stub { child, port }))
}

fn words(project: &Project, stub: &Stub, more: &[&str]) -> Vec<String> {
    let gateway = format!("MODEL_URL=local:https://localhost:{}/v1", stub.port);
    let ca = project.outside("ca.pem").to_string_lossy().into_owned();
    let own = [
        "--fast",
        "--guard-off",
        "sentinel_pair",
        "--gateway",
        &gateway,
        "--gateway-key-env",
        "MODEL_KEY",
    ];
    let words = [flags(), &own, more].concat();
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    if !more.contains(&"--gateway-ca") {
        words.extend(["--gateway-ca".to_owned(), ca]);
    }
    words
}

fn run(project: &Project, words: &[String]) -> crate::support::story::Said {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.run("python3 agent.py", "grep -q done product", &words)
}

#[test]
fn an_agent_asks_its_model_by_the_gateway_and_never_has_the_key() {
    let Some((project, stub)) = project() else { return };
    run(&project, &words(&project, &stub, &[])).converged(1);
    let told = project.read("told");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(
        told,
        ["200", "400", "400", "held-by-loopexec", "[]", "http 127.0.0.1 /v1"]
    );

    let asked = fs::read_to_string(project.outside("asked")).unwrap();
    let asked: Vec<serde_json::Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!((&asked[0][0], &asked[0][2]), (&"/v1/chat".into(), &"prompt".into()));
    let headers = asked[0][1].as_object().unwrap();
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(headers["host"], format!("localhost:{}", stub.port));
    assert!(
        headers.keys().all(|name| !name.eq_ignore_ascii_case("cookie")),
        "{headers:?}"
    );

    let rows = rows(&project);
    let model = rows.iter().find(|row| row["host"] == "localhost").unwrap();
    assert_eq!(
        (&model["allowed"], &model["connections"]),
        (&true.into(), &2.into()),
        "{rows:?}"
    );
    let refused = rows.iter().find(|row| row["reason"] == "malformed").unwrap();
    assert_eq!(refused["connections"], 2, "{rows:?}");
    let report = project.json(&["report"]).json.to_string();
    assert!(!report.contains(KEY));
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn a_gateway_that_cannot_hold_what_it_promises_lets_nothing_start() {
    let Some((mut project, stub)) = project() else { return };
    let said = run(&project, &words(&project, &stub, &["--gateway-ca", "/absent.pem"]));
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains("--gateway-ca"), "{}", said.why());
    let said = run(&project, &words(&project, &stub, &["--agent-env", "MODEL_KEY"]));
    said.halted(30, "workspace_invalid", "configuration_invalid");
    project.set("MODEL_KEY", "");
    let said = run(&project, &words(&project, &stub, &[]));
    said.halted(30, "isolation_unsatisfiable", "probe_failed");
    assert!(said.why().contains("MODEL_KEY"), "{}", said.why());
    assert!(!project.dir().join("told").exists() && !project.outside("asked").exists());
}
