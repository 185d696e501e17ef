package io.jrun.train.fsdp;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The reductions of a pass. The gradients of a unit are reduced while the next unit computes, and offloaded gradients
 * are written meanwhile: those of one unit while those of the next unit are added. Confined to the training thread.
 */
final class ReductionQueue {
    private final FsdpGroups groups;
    private final Deque<UnitReduction> running = new ArrayDeque<>();
    private final Deque<UnitReduction> writing = new ArrayDeque<>();

    ReductionQueue(FsdpGroups groups) {
        this.groups = groups;
    }

    /** Begins to reduce the gradients of a unit, if there are any. */
    void begin(FsdpUnit unit) {
        if (!unit.parameters().hasGradients()) {
            return;
        }
        running.forEach(UnitReduction::continueOverReplicas);
        finishReductions(groups.addsInTwoStages() ? 1 : 0); // the second stage runs while the next unit computes
        finishWrites(1); // the memory of the gradients of two units
        running.add(unit.reduce());
    }

    /** Returns when all gradients are in their shards, offloaded gradients too. */
    void finish() {
        finishReductions(0);
        finishWrites(0);
    }

    private void finishReductions(int left) {
        while (running.size() > left) {
            UnitReduction reduction = running.remove();
            reduction.finish();
            writing.add(reduction);
        }
    }

    private void finishWrites(int left) {
        while (writing.size() > left) {
            writing.remove().finishWrite();
        }
    }
}
