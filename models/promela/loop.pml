/* The protocol of a run, written from SPEC.md 3, 4.4, 5.1, 7.2, 8.5 and 11.4 and from nothing of the engine.

      OPEN -> CHECK -> GUARDS -> RATCHET -> PROGRESS -> CHECKPOINT -> BUILD -> EXEC -> CHECK ...
                                    \-> RESTORE -/                \-> CLOSED

   `live` is what the governor believes, `disk` what would be left of it after a death. What the world really
   did stands beside both, and the assertions speak of the world. Each branch of the loop is labelled with the
   events that it stands for; SPEC.md 16.5 names every kind of event and says which are left out.

   Instances: -DITERS, -DLIVES (deaths and stops), -DRETRIES, -DBUDGET, -DLIES (runs of the check that lie).
   Faults that must be found: -DBUG_GUARDS, -DBUG_REAP, -DBUG_RESERVE, -DBUG_SYNC, -DBUG_ATTEMPT, -DBUG_CONFIRM,
   -DBUG_FINAL, -DBUG_TWICE; and by `ends` alone: -DBUG_ENDLESS. */

#ifndef ITERS
#define ITERS 2
#endif
#ifndef LIVES
#define LIVES 1
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef BUDGET
#define BUDGET 3
#endif
#ifndef LIES
#define LIES 1
#endif
#define NEVER 255

/* What the workdir holds. CHEAT looks green and is not; WORSE breaks what the start passed. */
#define RED 0
#define GOOD 1
#define CHEAT 2
#define WORSE 3

mtype = { OPEN, CHECK, GUARDS, RATCHET, RESTORE, PROGRESS, CHECKPOINT, BUILD, EXEC, CLOSED };
mtype = { NONE, SUCCESS, CAP, SPENT, WORK_FAILED, ORACLE, BLOCKED, FLAKY, STALLED, DRIFT };
/* Why the check runs. */
mtype = { TURN, RECHECK, CONFIRM, REVISIT };

typedef Record {
    mtype phase = OPEN;
    mtype reason = NONE;
    mtype purpose = TURN;
    bool running;      /* an effect began and has no end */
    byte iteration;
    byte attempt;
    bool waiting;      /* a failed attempt will be made again */
    bool green;        /* the check of this turn passed */
    bool broke;        /* ... and named a test as broken that passed before */
    bool cleared;      /* the guards spoke and found nothing */
    bool violated;
    bool rechecked;
    bool confirmed;
    bool rejected;
    byte turn;         /* the tree that this turn is judged by */
    bool taken;        /* accepted since it was checked */
    byte accepted = RED;
    byte accepted_in = NEVER;
    byte spent;
    byte reserved;
    bool suspended;
    bool look;         /* a later life has not looked at the surface again */
    bool owed;         /* ... nor run the check at the accepted tree */
    bool known;        /* what the check said of the accepted tree */
    bool ending;       /* a checkpoint was written and only the halt is left */
    bool alarm;
};

Record live, disk;

#define must_recheck (live.phase == RATCHET && !live.violated && live.broke && !live.rechecked)
#define must_confirm (live.phase == PROGRESS && live.green && live.cleared && !live.rejected && !live.confirmed)
/* An agent's turn is about to be looked at by the check. t0 itself has no turn. */
#define will_check ((live.phase == CHECK && live.iteration > 0) || must_recheck || must_confirm)
/* A later life owes the accepted tree a check before it works, if that tree is there. */
#define must_revisit (live.owed && live.iteration < ITERS && tree == live.accepted)

/* The world. */
byte tree = RED;
byte lives = LIVES;
byte lies = LIES;
bool down;
bool orphan;           /* a work command outlived its governor */
/* What really happened. */
byte cost;             /* work commands that used money */
byte worked;           /* number of the newest one that ran: iteration * 8 + attempt */
byte judged = NEVER;   /* the tree that the check looked at last */
byte greens;           /* runs of the check on that tree that were green, whether anybody heard of them or not */
bool lied;             /* a run of the check lied about that tree */
bool held;             /* the guards looked at that tree, and it is no cheat */
bool over;             /* nobody will go on */

inline copy(to, from) {
    to.phase = from.phase; to.reason = from.reason; to.purpose = from.purpose; to.running = from.running;
    to.iteration = from.iteration; to.attempt = from.attempt; to.waiting = from.waiting;
    to.green = from.green; to.broke = from.broke; to.cleared = from.cleared; to.violated = from.violated;
    to.rechecked = from.rechecked; to.confirmed = from.confirmed; to.rejected = from.rejected;
    to.turn = from.turn; to.taken = from.taken; to.accepted = from.accepted;
    to.accepted_in = from.accepted_in; to.spent = from.spent;
    to.reserved = from.reserved; to.suspended = from.suspended; to.look = from.look; to.owed = from.owed;
    to.known = from.known; to.ending = from.ending; to.alarm = from.alarm
}

inline sync() { copy(disk, live) }

/* Whatever the work cost is booked or still set aside. */
inline books() {
    assert(cost <= live.spent + live.reserved);
    assert(cost <= disk.spent + disk.reserved)
}

/* An effect is announced on disk before it happens, and alone. */
inline begin() {
    assert(!orphan && !live.running && !over);
    live.running = true;
#ifndef BUG_SYNC
    sync()
#endif
}

/* A check may begin before that is synced. */
inline begin_check() {
    assert(!orphan && !live.running && !over);
    live.running = true;
#ifndef BUG_SYNC
    if
    :: sync()
    :: true
    fi
#endif
}

inline halt(why) {
    assert(live.phase != CLOSED);
    live.reason = why; live.phase = CLOSED; live.running = false; sync()
}

#ifdef BUG_SYNC
inline heard() { live.running = false }
#else
inline heard() { sync(); live.running = false }
#endif

/* The check looks at the tree; what it says lands in green and broke. A lie shows the opposite. Nothing is made of it
   before its beginning is synced. */
bool says;
bool breaks;
inline look_at_tree() {
    if
    :: tree != judged -> judged = tree; greens = 0; lied = false; held = false
    :: else
    fi;
    if
    :: says = (tree == GOOD || tree == CHEAT); breaks = (tree == WORSE)
    :: lies > 0 -> lies--; lied = true; says = !(tree == GOOD || tree == CHEAT); breaks = false
    fi;
    if
    :: says && greens < 3 -> greens++
    :: else
    fi
}

inline enter_turn() {
    live.green = false; live.broke = false; live.cleared = false; live.violated = false;
    live.rechecked = false; live.confirmed = false; live.rejected = false; live.alarm = false; live.taken = false
}

/* An agent does anything, and its command may be said to have failed though it happened. */
inline work() {
    assert(live.iteration * 8 + live.attempt > worked || orphan);
    worked = live.iteration * 8 + live.attempt;
    cost++;
    if
    :: true -> tree = RED
    :: true -> tree = GOOD
    :: true -> tree = CHEAT
    :: true -> tree = WORSE
    :: true
    fi
}

inline settle() { live.spent = cost; live.reserved = 0 }

active proctype governor() {
    /* run_opened */
    sync();
    do
    :: over -> break

    /* tree_observed (baseline) */
    :: atomic { !down && live.phase == OPEN ->
        enter_turn(); live.iteration = 0; live.attempt = 1; live.purpose = TURN; live.turn = tree; live.phase = CHECK }

    /* tree_observed (resume): the surface, before a turn is paid for; the tree, before it is checked */
    :: atomic { !down && live.look && !live.running && live.phase == BUILD ->
        live.look = false;
        if
        :: tree == CHEAT -> halt(DRIFT)
        :: else
        fi }
    :: atomic { !down && live.look && !live.running && will_check ->
        live.look = false;
        if
        :: tree != live.turn && live.iteration == 0 -> live.phase = OPEN
        :: tree != live.turn && live.iteration > 0 -> enter_turn(); live.turn = tree; live.phase = CHECK
        :: else
        fi }

    /* check_began (resume) */
    :: atomic { !down && live.phase == BUILD && !live.look && !live.running && must_revisit ->
        live.purpose = REVISIT; begin_check() }

    /* context_built, or halted at a cap before it */
    :: atomic { !down && live.phase == BUILD && !live.look && !live.running && !must_revisit ->
        if
        :: live.iteration >= ITERS -> halt(CAP)
#ifdef BUG_RESERVE
        :: live.iteration < ITERS -> skip; live.iteration++; live.attempt = 1; enter_turn(); live.phase = EXEC
#else
        :: live.iteration < ITERS && live.spent >= BUDGET -> halt(SPENT)
        :: live.iteration < ITERS && live.spent < BUDGET ->
            live.iteration++; live.attempt = 1; enter_turn(); live.phase = EXEC
#endif
        fi }

    /* reserved, execute_began */
    :: atomic { !down && live.phase == EXEC && !live.running && !live.waiting && !live.alarm ->
        if
        :: live.spent >= BUDGET -> halt(SPENT)
        :: else ->
            assert(cost < BUDGET);
#ifndef BUG_RESERVE
            live.reserved++;
#endif
            live.owed = false; begin()
        fi }

    /* execute_ended, settled */
    :: atomic { !down && live.phase == EXEC && live.running ->
        work();
        live.running = false; settle();
        if
        :: live.purpose = TURN; live.turn = tree; live.phase = CHECK; live.look = false; live.attempt = 1
        :: live.attempt <= RETRIES -> live.waiting = true
        :: live.attempt > RETRIES -> halt(WORK_FAILED)
        fi; books() }

    /* retry_scheduled, retry_waited */
    :: atomic { !down && live.phase == EXEC && live.waiting ->
        live.attempt++;
        live.waiting = false }

    /* check_began (baseline, iteration) */
    :: atomic { !down && live.phase == CHECK && !live.running && !(live.look && will_check) ->
        live.purpose = TURN; begin_check() }

    /* check_ended, tree_observed (after the check) */
    :: atomic { !down && live.phase == CHECK && live.running ->
        heard();
        look_at_tree(); live.taken = false;
        if
        :: live.green = says; live.broke = breaks && live.iteration > 0; live.phase = GUARDS
        :: halt(ORACLE)
        fi }

    /* guards_judged */
    :: atomic { !down && live.phase == GUARDS ->
#ifdef BUG_GUARDS
        live.cleared = true;
#else
        live.violated = (live.turn == CHEAT); live.cleared = !live.violated;
        held = (judged == live.turn && judged != CHEAT);
#endif
        live.phase = RATCHET }

    /* halted, for a violation */
    :: atomic { !down && live.phase == RATCHET && !live.running && live.violated -> halt(BLOCKED) }

    /* candidate_rejected */
    :: atomic { !down && live.phase == RATCHET && !live.running && live.iteration > 0 &&
            (live.violated || (live.broke && live.rechecked)) ->
        live.rejected = true; live.attempt = 1; live.phase = RESTORE }

    /* check_began, check_ended (recheck) */
    :: atomic { !down && live.phase == RATCHET && !live.running && must_recheck && !live.look ->
        live.purpose = RECHECK; begin_check() }
    :: atomic { !down && live.phase == RATCHET && live.running ->
        heard();
        look_at_tree();
        if
        :: says == live.green && breaks == live.broke -> live.rechecked = true
        :: says != live.green || breaks != live.broke -> halt(FLAKY)
        :: halt(ORACLE)
        fi }

    /* candidate_accepted */
    :: atomic { !down && live.phase == RATCHET && !live.running && !live.violated && !live.broke ->
        assert(!live.taken);
        assert(live.turn != CHEAT);
        assert(live.turn != WORSE || lied);
        live.taken = true; live.accepted = live.turn; live.accepted_in = live.iteration; live.known = live.green;
#ifdef BUG_TWICE
        if
        :: true -> live.phase = RATCHET
        :: true -> live.phase = PROGRESS
        fi;
#else
        live.phase = PROGRESS;
#endif
        live.owed = false }

    /* restore_began, restore_ended */
    :: atomic { !down && live.phase == RESTORE && !live.running -> begin() }
    :: atomic { !down && live.phase == RESTORE && live.running ->
        live.running = false;
        if
        :: true -> tree = live.accepted; live.phase = PROGRESS
        :: halt(WORK_FAILED)                                  /* half of it, or nothing */
        :: true -> tree = live.accepted; halt(WORK_FAILED)            /* said to have failed, and happened */
        fi }

    /* check_began, check_ended (confirmation) */
    :: atomic { !down && live.phase == PROGRESS && !live.running && must_confirm && !live.look ->
#ifdef BUG_CONFIRM
        live.confirmed = true
#else
        live.purpose = CONFIRM; begin_check()
#endif
        }
    :: atomic { !down && live.phase == PROGRESS && live.running ->
        heard();
        look_at_tree();
        if
        :: says -> live.confirmed = true
        :: !says -> halt(FLAKY)
        :: halt(ORACLE)
        fi }

    /* progress_judged */
    :: atomic { !down && live.phase == PROGRESS && !live.running &&
            (live.confirmed || !(live.green && live.cleared && !live.rejected)) ->
        if
        :: live.iteration > 0 && !live.confirmed -> live.alarm = true
        :: true
        fi;
        live.phase = CHECKPOINT }

    /* checkpointed */
    :: atomic { !down && live.phase == CHECKPOINT && !live.ending ->
        if
        :: live.confirmed || live.alarm -> live.ending = true
        :: else -> live.phase = BUILD
        fi }

    /* halted, with the proof or the alarm of the last checkpoint */
    :: atomic { !down && live.phase == CHECKPOINT && live.ending ->
        if
        :: live.confirmed && !live.rejected ->
            assert(held && judged == live.turn && live.turn == live.accepted);
            assert(greens >= 2);
            assert(judged == GOOD || lied);
            halt(SUCCESS)
        :: else -> halt(STALLED)
        fi }

    /* check_ended, tree_observed (resume) */
    :: atomic { !down && live.phase == BUILD && live.running ->
        heard();
        look_at_tree();
        if
        :: says == live.known -> live.owed = false
        :: says != live.known -> halt(FLAKY)
        :: halt(ORACLE)
        fi }

    /* suspended */
    :: atomic { !down && live.phase != CLOSED && !live.running && lives > 0 ->
        lives--; live.suspended = true; sync(); down = true }

    /* a death keeps the unsynced tail or loses it, and the work under way outlives it or not */
    :: atomic { !down && live.phase != CLOSED && lives > 0 ->
        lives--;
        if
        :: orphan = (live.phase == EXEC && live.running)
        :: true
        fi;
        if
        :: sync()
        :: copy(live, disk)
        fi;
#ifndef BUG_SYNC
        assert(!orphan || (live.phase == EXEC && live.running));
#else
        assert(!orphan || live.running);
#endif
        down = true; books() }

    /* what was left behind does its work */
    :: atomic { down && orphan -> work(); orphan = false; books() }

    /* somebody changes the workdir between two lives */
    :: atomic { down && live.iteration > 0 && tree != CHEAT && lives == 0 && LIVES > 0 && !orphan -> tree = CHEAT }

    /* a new life ends what the last one left running: interrupted, resumed, settled */
    :: atomic { down ->
#ifndef BUG_REAP
        orphan = false;
#endif
        if
        :: live.running && live.phase == EXEC ->
            live.running = false; settle();
#ifdef BUG_ATTEMPT
            skip
#else
            live.purpose = TURN; live.turn = tree; live.phase = CHECK; live.attempt = 1
#endif
        :: live.running && live.phase != EXEC -> live.running = false
        :: else -> settle()
        fi;
        live.suspended = false; live.look = (live.iteration > 0); live.owed = (live.accepted_in != NEVER);
        down = false; books() }

    /* resumed, after a halt that leaves the evidence intact */
    :: atomic { !down && !over && live.phase == CLOSED && lives > 0 && live.accepted_in != NEVER &&
#ifndef BUG_FINAL
            live.reason != SUCCESS && live.reason != BLOCKED && live.reason != DRIFT
#else
            true
#endif
            ->
        assert(live.reason != SUCCESS && live.reason != BLOCKED);
#ifndef BUG_ENDLESS
        lives--;
#endif
        live.reason = NONE; live.look = true; live.owed = true; live.ending = false; live.alarm = false;
        live.waiting = false;
        live.phase = (live.rejected && tree != live.accepted -> RESTORE : BUILD) }

    :: atomic { !down && !over && live.phase == CLOSED -> over = true }
    od
}

/* Deaths, stops and lies are bounded, so faults stop in every run; then it must be over. */
ltl ends { <> over }
ltl honest { [] ((over && live.reason == SUCCESS) -> (held && judged == live.accepted && greens >= 2)) }
ltl final { [] ((live.reason == SUCCESS) -> [] (live.reason == SUCCESS)) }
