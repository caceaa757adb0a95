//! What can happen when an effect is performed: the menu of agents, checks, walks, restores and experiments.

use engine::event::measurement::{RunOutcome, StopCause, SurfaceClass};

use crate::project::{GUTTED, RENAMED, Tree, bit, class_bit};

/// What an agent does to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    Nothing,
    /// Makes the code right for one test.
    Fix(u8),
    /// Makes the code wrong for one test.
    Break(u8),
    /// Fixes the one and breaks the other, with a salt that tells attempts apart.
    Trade {
        fix: u8,
        breaks: u8,
        salt: u8,
    },
    /// Changes something that no test notices.
    Salt(u8),
    /// Changes the whole tree.
    Set(Tree),
    Skip(u8),
    Delete(u8),
    /// Takes out what a test demands.
    Soften(u8),
    /// Gives the last test another name, in a test file.
    Rename,
    /// Takes out what the last test demands, in a test file.
    Gut,
    /// Adds a test that passes.
    Add,
    /// Edits a watched path so that every test passes.
    Cheat(SurfaceClass),
    /// Pushes, or moves another branch.
    MoveRef,
    EditHook,
    /// Writes into the state directory.
    TouchState,
    /// Leaves something beside the sources that makes one test pass in the workdir and nowhere else.
    Prop(u8),
}

impl Edit {
    /// The tree after this edit.
    pub fn apply(self, tree: Tree) -> Tree {
        let mut after = tree;
        match self {
            Self::Nothing | Self::MoveRef | Self::EditHook | Self::TouchState | Self::Prop(_) => {}
            Self::Fix(n) => after.right |= bit(n),
            Self::Break(n) => after.right &= !bit(n),
            Self::Trade { fix, breaks, salt } => {
                after.right = (after.right | bit(fix)) & !bit(breaks);
                after.salt = salt;
            }
            Self::Salt(salt) => after.salt = salt,
            Self::Set(tree) => after = tree,
            Self::Skip(n) => after.skipped |= bit(n),
            Self::Delete(n) => after.gone |= bit(n),
            Self::Soften(n) => after.softened |= bit(n),
            Self::Add => after.added += 1,
            Self::Rename => after.watched |= RENAMED,
            Self::Gut => after.watched |= GUTTED,
            Self::Cheat(class) => after.watched |= class_bit(class),
        }
        after
    }
}

/// How a work command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    Exit(i32),
    /// Exits with this status at once.
    Instant(i32),
    Signal(i32),
    NotFound,
    /// Never runs, or is lost with its supervisor.
    Lost(RunOutcome),
    /// loopexec ended it.
    Stop(StopCause),
    Ask,
    /// Exits 0 and leaves a process behind.
    Survivor {
        ended: bool,
    },
}

/// One turn of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    pub edit: Edit,
    pub end: End,
}

impl Turn {
    /// An agent that does this and exits 0.
    pub const fn does(edit: Edit) -> Self {
        Self {
            edit,
            end: End::Exit(0),
        }
    }

    /// An agent that changes nothing and ends like this.
    pub const fn ends(end: End) -> Self {
        Self {
            edit: Edit::Nothing,
            end,
        }
    }
}

/// How one run of the check goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    Honest,
    /// This run shows the opposite for one test.
    Flip(u8),
    /// Exits 0 whatever the tests say.
    ExitZero,
    /// Runs no test at all and exits like this.
    ZeroTests(i32),
    /// Exits red before a test was collected.
    Crash,
    /// Exits with this status before a test was collected, as 126, 127 and 137 do.
    Code(i32),
    Signal(i32),
    /// Never runs, or is lost with its supervisor.
    Lost(RunOutcome),
    Stop(StopCause),
    /// The report is older than the run.
    Stale,
    NoReport,
    /// No collector can read the output; the exit status is honest.
    Unreadable,
    /// Stops early with a green exit: more was announced than concluded.
    Partial,
    /// The runner never said that it was done.
    Unfinished,
    /// Leaves a process that cannot be ended.
    Survivor,
    /// Rewrites a watched path while it runs.
    WritesSurface,
    /// Writes a file that nobody watches.
    WritesArtefact,
    /// The check writes into the loop's own state directory.
    TouchesState,
}

/// How a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Walk {
    Fine,
    /// The workdir is gone.
    Lost,
    /// The repository cannot be read.
    GitUnreadable,
    /// A file kept changing while it was read.
    Restless,
}

/// How a restore goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    Fine,
    /// Stops half-way with an error.
    Fails,
    /// Puts all of it back and reports an error all the same.
    Complains,
}

/// How the writing of the slice goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slice {
    Fine,
    Fails,
}

/// How an experiment in copies goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lab {
    Honest,
    /// Each run shows the opposite for one test.
    Flip(u8),
    /// No copy can be made.
    Fails,
    /// loopexec ends the first run.
    Stop(StopCause),
}

/// What happens to one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    Turn(Turn),
    Look(Look),
    Walk(Walk),
    Repair(Repair),
    Slice(Slice),
    Lab(Lab),
    Wait,
}
