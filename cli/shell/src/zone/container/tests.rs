use super::super::bwrap::tests::plan;
use super::*;

fn container(engine: ZoneRuntime) -> Container {
    Container {
        engine,
        program: "/usr/bin/engine".into(),
        image: "quay.io/box@sha256:0123".into(),
        label: "abcd".into(),
    }
}

fn words(plan: &ZonePlan, engine: ZoneRuntime) -> String {
    let sources = Sources {
        init: "/opt/loopexec".into(),
        work: "/run/tree".into(),
        binds: vec!["/tools".into()],
    };
    let mut text = String::new();
    for word in arguments(plan, &container(engine), &sources) {
        let word = word.into_string().unwrap();
        if !text.is_empty() {
            text.push(if word.starts_with("--") { '\n' } else { ' ' });
        }
        text.push_str(&word);
    }
    text
}

const PODMAN: &str = "\
run
--rm
--interactive
--pull never
--label loopexec.zone=abcd
--network none
--read-only
--cap-drop ALL
--security-opt no-new-privileges
--ipc private
--hostname loopexec
--log-driver none
--pids-limit 1
--memory 1b
--memory-swap 1b
--shm-size 4096b
--ulimit core=0:0
--ulimit nofile=1:1
--ulimit fsize=1:1
--userns keep-id:uid=1000,gid=1000
--read-only-tmpfs=false
--http-proxy=false
--preserve-fds 1
--user 1000:1000
--workdir /
--tmpfs /tmp:rw,nosuid,nodev,size=4096,mode=1777
--tmpfs /home/loopexec:rw,nosuid,nodev,size=4096,mode=1777
--mount type=bind,source=/opt/loopexec,destination=/loopexec/init,readonly=true
--mount type=bind,source=/tools,destination=/opt/tools,readonly=true
--mount type=bind,source=/run/tree,destination=/home/user/project,readonly=true
--tmpfs /home/user/project/target:rw,nosuid,nodev,size=4096,mode=1777
--entrypoint /loopexec/init
-- quay.io/box@sha256:0123";

#[test]
fn a_plan_has_this_one_rendering_for_each_engine() {
    assert_eq!(words(&plan(), ZoneRuntime::Podman), PODMAN);
    let of_podman = ["--userns", "--read-only-tmpfs", "--http-proxy", "--preserve-fds"];
    let kept = |line: &&str| !of_podman.iter().any(|option| line.starts_with(option));
    let docker: Vec<&str> = PODMAN.lines().filter(kept).collect();
    assert_eq!(words(&plan(), ZoneRuntime::Docker), docker.join("\n"));
}

#[test]
fn a_rendering_tells_nothing_of_the_command_and_its_variables() {
    for engine in [ZoneRuntime::Podman, ZoneRuntime::Docker] {
        let words = words(&plan(), engine);
        assert!(!words.contains("canary") && !words.contains("SECRET"), "{words}");
        assert!(
            !words
                .lines()
                .any(|line| line.starts_with("-e") || line.starts_with("--env"))
        );
    }
}

#[test]
fn a_work_tree_that_may_be_written_is_said_to_be() {
    let mut plan = plan();
    plan.work.writable = true;
    plan.work.outputs.clear();
    assert!(words(&plan, ZoneRuntime::Podman).contains("destination=/home/user/project,readonly=false"));
}

#[test]
fn a_path_that_would_be_read_as_options_is_unsound() {
    assert_eq!(unsound(&plan()), None);
    for spoilt in ["/a,readonly=false", "/a:rw", "/a\"b", "/a\nb"] {
        for spoil in [
            (|plan, path| plan.work.source = path) as fn(&mut ZonePlan, std::path::PathBuf),
            |plan, path| plan.work.at = path,
            |plan, path| plan.binds[0].source = path,
            |plan, path| plan.binds[0].at = path,
            |plan, path| plan.work.outputs = vec![path],
        ] {
            let mut plan = plan();
            spoil(&mut plan, spoilt.into());
            assert!(unsound(&plan).is_some(), "{spoilt}");
        }
    }
}
