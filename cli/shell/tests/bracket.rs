//! The bracket never hands an event to the record that the machine refuses (SPEC 3.1.2), lets no effect happen before
//! its beginning is as safe as it has to be, and believes no answer to one before it is durable (SPEC 3.1.3, 11.4.1).

// A helper that fails fails its test.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::rc::Rc;

use engine::event::Event;
use engine::event::id::{Digest, Stamp};
use engine::event::iteration::{Checkpointed, ContextBuilt};
use engine::event::measurement::{AssertionsSeen, GitSeen, GitState, TreeSeen};
use engine::event::policy::{Command, Policy};
use engine::event::run::RunOpened;
use engine::{Effect, Observation, State};
use shell::driver::{Broken, Meanwhile, Record, World, commit, drive};

/// What reached the record, and what was made durable of it.
#[derive(Default)]
struct Kept {
    appended: Vec<Event>,
    durable: usize,
    /// The same, of what was handed to the system before a check.
    written: usize,
    full: bool,
    /// What is written fails to become durable.
    torn: bool,
    /// How much is not durable, for a world that looks.
    waiting: Rc<Cell<usize>>,
}

impl Record for Kept {
    type Error = &'static str;

    fn append(&mut self, event: &Event) -> Result<(), Self::Error> {
        if self.full {
            return Err("no room");
        }
        self.appended.push(event.clone());
        self.waiting.set(self.waiting.get() + 1);
        Ok(())
    }

    fn write(&mut self, _: &State) -> Result<(), Self::Error> {
        self.written = self.appended.len();
        Ok(())
    }

    fn sync(&mut self, _: &State) -> Result<(), Self::Error> {
        if self.torn {
            return Err("torn");
        }
        self.durable = self.appended.len();
        self.waiting.set(0);
        Ok(())
    }

    fn announce(&mut self, _: &Effect) {}
}

/// Answers whatever it is asked as if it had been asked to wait.
struct Confused {
    asked: usize,
}

impl World for Confused {
    fn perform(&mut self, _: &State, _: &Effect, _: &mut dyn FnMut(Meanwhile) -> bool) -> Observation {
        self.asked += 1;
        Observation::Waited { at: Stamp::default() }
    }

    fn stamp(&mut self) -> Stamp {
        Stamp::default()
    }

    fn stop_asked(&mut self) -> Option<i32> {
        None
    }
}

/// Has an empty workdir, knows what it has been asked, and how much was not durable then.
#[derive(Default)]
struct Watchful {
    asked: Vec<(&'static str, usize)>,
    waiting: Rc<Cell<usize>>,
    /// What was not durable once a command ran, and whether that command may go on.
    meanwhile: Vec<(usize, bool)>,
    signal: Option<i32>,
}

impl Watchful {
    fn of(record: &Kept) -> Self {
        Self {
            waiting: record.waiting.clone(),
            ..Self::default()
        }
    }
}

impl World for Watchful {
    fn perform(&mut self, _: &State, effect: &Effect, meanwhile: &mut dyn FnMut(Meanwhile) -> bool) -> Observation {
        let at = Stamp::default();
        let (name, seen) = match effect {
            Effect::ObserveTree { .. } => (
                "walk",
                Observation::Tree {
                    at,
                    seen: empty_workdir(),
                },
            ),
            Effect::Check { .. } => ("check", Observation::Waited { at }),
            Effect::Execute { .. } => ("work", Observation::Waited { at }),
            Effect::BuildContext(_) => ("context", slice()),
            _ => ("other", Observation::Waited { at }),
        };
        self.asked.push((name, self.waiting.get()));
        if effect.runs_a_command() {
            let goes_on = meanwhile(Meanwhile::Sync) && meanwhile(Meanwhile::Tell);
            self.meanwhile.push((self.waiting.get(), goes_on));
        }
        seen
    }

    fn stamp(&mut self) -> Stamp {
        Stamp::default()
    }

    fn stop_asked(&mut self) -> Option<i32> {
        self.signal
    }
}

fn empty_workdir() -> TreeSeen {
    let git = GitSeen {
        state: GitState::None,
        note: String::new(),
        head: None,
        branch: None,
        refs: Vec::new(),
        meta: Vec::new(),
        listed: GitState::None,
        listed_note: String::new(),
        index_locked: false,
    };
    TreeSeen {
        tree: Digest::ZERO,
        files: 0,
        bytes: 0,
        changes_total: 0,
        changes: Vec::new(),
        surface: Vec::new(),
        surface_more: 0,
        surface_files: 0,
        surface_digest: Digest::ZERO,
        unstable: Vec::new(),
        unstored: Vec::new(),
        unreadable: Vec::new(),
        git,
        assertions: AssertionsSeen::default(),
        cost_us: 0,
    }
}

fn slice() -> Observation {
    Observation::Context {
        path: "context".into(),
        digest: Digest::ZERO,
        bytes: 0,
        tokens: 0,
        manifest: Vec::new(),
        error: String::new(),
    }
}

fn opened() -> State {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    opened_with(policy)
}

fn opened_with(policy: Policy) -> State {
    State::open(RunOpened {
        at: Stamp::default(),
        run_id: "r".to_owned(),
        engine: engine::VERSION.to_owned(),
        workdir: "/w".into(),
        boot_id: String::new(),
        policy_digest: Digest::ZERO,
        policy,
        origins: Vec::new(),
        programs: Vec::new(),
        probe: None,
        zones: Vec::new(),
    })
}

/// Events that are lawful somewhere, and not as the second one of a run.
fn out_of_place() -> Vec<Event> {
    let checkpointed = Checkpointed {
        at: Stamp::default(),
        iteration: 1,
        tree: Digest::ZERO,
        accepted: None,
        check_exit: Some(0),
        failing: 0,
        spend_microusd: 0,
        unread: 0,
    };
    let built = ContextBuilt {
        iteration: 1,
        path: "context".into(),
        digest: Digest::ZERO,
        bytes: 0,
        tokens: 0,
        manifest: Vec::new(),
        error: String::new(),
    };
    let opened = opened().facts.opened;
    vec![checkpointed.into(), built.into(), Event::from((*opened).clone())]
}

#[test]
fn an_event_that_is_illegal_now_never_reaches_the_record() {
    for event in out_of_place() {
        let mut record = Kept::default();
        let refused = commit(opened(), &event, &mut record).unwrap_err();
        assert!(matches!(refused, Broken::Illegal(_)), "{}: {refused}", event.name());
        assert!(record.appended.is_empty(), "{} was written", event.name());
    }
}

#[test]
fn the_state_adopts_no_event_that_could_not_be_written() {
    let state = opened();
    let event = state.suspend(
        engine::event::run::SuspendCause::Signal,
        15,
        String::new(),
        Stamp::default(),
    );
    assert!(matches!(&event, Event::Suspended(suspended) if suspended.code == 15));
    let mut record = Kept {
        full: true,
        ..Kept::default()
    };
    let refused = commit(state.clone(), &event, &mut record).unwrap_err();
    assert!(matches!(refused, Broken::Record("no room")), "{refused}");
    let mut record = Kept::default();
    let adopted = commit(state, &event, &mut record).unwrap();
    assert!(adopted.facts.suspended.is_some() && record.appended == [event]);
}

#[test]
fn an_answer_that_does_not_fit_ends_the_run_in_a_lawful_record() {
    let mut record = Kept::default();
    let mut world = Confused { asked: 0 };
    let state = drive(opened(), &mut world, &mut record).unwrap();
    assert_eq!(state.facts.halted.unwrap().cause, "foreign_answer");
    assert_eq!((world.asked, record.durable), (1, record.appended.len()));
    let whole = std::iter::once(Event::from((*opened().facts.opened).clone())).chain(record.appended);
    assert!(State::fold(&whole.collect::<Vec<_>>()).is_ok());
}

#[test]
fn the_beginning_of_a_check_is_durable_while_it_runs() {
    let mut record = Kept::default();
    let mut world = Watchful::of(&record);
    drive(opened(), &mut world, &mut record).unwrap();
    assert_eq!(world.asked, [("walk", 0), ("check", 2)]);
    assert_eq!((world.meanwhile, record.written), (vec![(0, true)], 2));
    assert!(record.appended.iter().any(|event| event.name() == "check_began"));
}

#[test]
fn the_beginning_of_work_is_durable_before_it() {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    policy.oracle.baseline = false;
    let mut record = Kept::default();
    let mut world = Watchful::of(&record);
    drive(opened_with(policy), &mut world, &mut record).unwrap();
    let work = world.asked.iter().find(|(name, _)| *name == "work");
    assert_eq!(work, Some(&("work", 0)), "{:?}", world.asked);
}

#[test]
fn a_check_whose_beginning_cannot_be_kept_is_ended_and_not_answered() {
    let mut record = Kept {
        torn: true,
        ..Kept::default()
    };
    let mut world = Watchful::of(&record);
    let broken = drive(opened(), &mut world, &mut record).unwrap_err();
    assert!(matches!(broken, Broken::Record("torn")), "{broken}");
    assert_eq!(world.meanwhile, [(2, false)]);
    assert!(
        record
            .appended
            .last()
            .is_some_and(|event| event.name() == "check_began")
    );
}

#[test]
fn a_signal_suspends_the_run_before_anything_else_is_done() {
    let mut record = Kept::default();
    let mut world = Watchful {
        signal: Some(15),
        ..Watchful::default()
    };
    let state = drive(opened(), &mut world, &mut record).unwrap();
    assert!(
        state.facts.suspended.is_some() && world.asked.is_empty(),
        "{:?}",
        world.asked
    );
    assert!(matches!(
        &record.appended[..],
        [Event::Suspended(suspended)] if suspended.code == 15
    ));
    assert_eq!(record.durable, 1);
}
