package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.List;

/** A state, and the actions of the transition to it, in order. */
record Transition(JobState state, List<CoordinatorAction> actions) {
    Transition {
        actions = List.copyOf(actions);
    }

    static Transition to(JobState state, CoordinatorAction... actions) {
        return new Transition(state, List.of(actions));
    }

    /** This transition with {@code actions} before its own actions. */
    Transition after(CoordinatorAction... first) {
        List<CoordinatorAction> all = new ArrayList<>(List.of(first));
        all.addAll(actions);
        return new Transition(state, all);
    }
}
