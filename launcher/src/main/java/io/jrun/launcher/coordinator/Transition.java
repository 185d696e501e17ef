package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.List;

/** A state and what has to be done on the way there, in order. */
record Transition(JobState state, List<CoordinatorAction> actions) {
    Transition {
        actions = List.copyOf(actions);
    }

    static Transition to(JobState state, CoordinatorAction... actions) {
        return new Transition(state, List.of(actions));
    }

    /** The same after some other actions. */
    Transition after(CoordinatorAction... first) {
        List<CoordinatorAction> all = new ArrayList<>(List.of(first));
        all.addAll(actions);
        return new Transition(state, all);
    }
}
