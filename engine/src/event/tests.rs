use super::id::{Digest, PhaseName, Stamp};
use super::policy::{Bounds, Policy};
use super::run::{InterruptCause, Interrupted, RunOpened};
use super::*;
use alloc::vec;

fn opened() -> Event {
    RunOpened {
        at: Stamp { wall_ms: 1, mono_ms: 2 },
        run_id: "r".into(),
        engine: "0".into(),
        workdir: "/w\u{e9}".into(),
        boot_id: "b".into(),
        policy_digest: Digest([7; 32]),
        policy: Policy::default(),
        origins: vec![],
        programs: vec![],
        probe: None,
        zones: [].into(),
    }
    .into()
}

#[test]
fn an_event_survives_its_payload_and_its_json() {
    let event = opened();
    let mut payload = Vec::new();
    event.encode(&mut payload);
    assert_eq!(
        Event::decode(event.kind(), event.version(), &payload),
        Ok(event.clone())
    );
    let json = serde_json::to_string(&event).unwrap();
    assert!(
        json.starts_with(r#"{"event":"run_opened","at":{"wall_ms":1,"#),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
}

#[test]
fn one_value_has_one_encoding() {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    opened().encode(&mut first);
    opened().encode(&mut second);
    assert_eq!(first, second);
}

#[test]
fn a_payload_may_stand_at_any_offset() {
    let event: Event = Interrupted {
        at: Stamp::default(),
        iteration: 3,
        phase: PhaseName::Execute,
        attempt: 1,
        cause: InterruptCause::Crash,
    }
    .into();
    let mut bytes = vec![0xAA];
    event.encode(&mut bytes);
    assert_eq!(Event::decode(event.kind(), 1, &bytes[1..]), Ok(event));
}

#[test]
fn unknown_kinds_and_hostile_bytes_are_typed_errors() {
    assert_eq!(
        Event::decode(9_999, 1, &[]),
        Err(DecodeError::Unknown {
            kind: 9_999,
            version: 1
        })
    );
    assert!(Event::decode(1, 2, &[0; 64]).is_err());
    for length in [0, 1, 7, 64, 4_096] {
        for schema in Event::schemas() {
            let _ = Event::decode(schema.kind, schema.version, &vec![0xFF; length]);
        }
    }
    assert!(Event::decode(1, 1, &[0xFF; 64]).is_err());
}

#[test]
fn kinds_are_unique_and_shapes_are_spelled_in_full() {
    let schemas = Event::schemas();
    for (i, schema) in schemas.iter().enumerate() {
        assert!(
            schemas[i + 1..]
                .iter()
                .all(|s| s.kind != schema.kind && s.name != schema.name)
        );
        assert!(schema.shape.starts_with('{'));
    }
    assert!(schemas[0].shape.contains("policy:{mode:<check_fixpoint|task_list|>"));
}

#[test]
fn what_runs_beside_work_and_check_always_has_a_limit() {
    let mut bounds = Bounds::default();
    assert_eq!(bounds.beside_timeout_ms(), 600_000);
    bounds.command_timeout_ms = Some(5);
    assert_eq!(bounds.beside_timeout_ms(), 5);
}
