package io.jrun.train.fsdp;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.reducer.ReductionQueue;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Gathers and frees the units of a pass in time. The next unit is gathered while one computes: in the order of the last
 * forward pass, and backwards in the order of this one. Gradients are reduced while the next unit computes. All ranks
 * run equal passes, so all ranks begin their collectives in the same order. Confined to the training thread.
 */
final class FsdpPass {
    private final FsdpGroups groups;
    private final FsdpOptions options;
    private final List<FsdpUnit> units = new ArrayList<>();
    private @Nullable FsdpUnit root;
    private List<FsdpUnit> lastOrder = List.of();
    private final List<FsdpUnit> order = new ArrayList<>();
    private final ReductionQueue reductions = new ReductionQueue();
    /** Offloaded gradients are written: those of one unit while those of the next unit are added. */
    private final ReductionQueue writes = new ReductionQueue();

    private final ReadAhead readAhead = new ReadAhead();
    private boolean isSyncing = true;
    private boolean isBackward;
    private boolean staysWhole;
    private boolean isOpen;
    private boolean hasBegun;
    /** Whether a backward pass of a step has ended. The program then knows how to begin one. */
    private boolean hasTrained;
    /** Whether gradients of this step are in the memory of whole units: those of passes without reduction. */
    private boolean holdsGradients;
    /**
     * The forward passes of a unit in this step whose backward passes have not ended: blocks may share a unit. A pass that
     * no backward pass follows counts until the step ends, so that the unit is reduced at the end of a backward pass.
     */
    private final Map<FsdpUnit, Integer> openPasses = new HashMap<>();
    /** The place in {@link #order} that the backward pass has reached. */
    private int reached;

    private @Nullable RuntimeException failure;

    FsdpPass(FsdpGroups groups, FsdpOptions options) {
        this.groups = groups;
        this.options = options;
    }

    void add(FsdpUnit unit) {
        units.add(unit);
    }

    /** Without blocks, no code runs before a forward pass behind an update. Its reads of the parameters must fail then. */
    void setRoot(FsdpUnit unit) {
        root = unit;
        if (units.isEmpty()) {
            unit.parameters().noteCopies(unit);
        }
    }

    /** All units, the root last. */
    List<FsdpUnit> units() {
        List<FsdpUnit> all = new ArrayList<>(units);
        if (root != null) {
            all.add(root);
        }
        return all;
    }

    boolean isSyncing() {
        return isSyncing;
    }

    void setSyncing(boolean syncing) {
        isSyncing = syncing;
    }

    /** A step begins: the root becomes whole, the first unit follows. */
    void begin() {
        requireSound();
        requireClosed();
        freeDroppedGradients();
        isOpen = true;
        holdsGradients = mayMissBackward() && hasGradients();
        if (!hasBegun) {
            hasBegun = true;
            noteNewValues();
        }
        guarded(() -> {
            if (root != null) {
                readAhead.begin(root);
                readAhead.begin(expected(), 0);
                root.beginGather();
            }
            prefetch(expected(), 0, 1);
            if (root != null) {
                root.gather();
            }
        });
    }

    /** The root is gathered once in a step, so a pass after an update would compute with old values of the root. */
    private void requireCurrentRoot() {
        if (root != null) {
            root.requireCurrent();
        }
    }

    /**
     * A load fills the shards. A rank may have no rows of a parameter, so the load of one parameter counts for all
     * parameters.
     */
    private void noteNewValues() {
        if (units().stream().anyMatch(unit -> unit.parameters().hasNewValues())) {
            units().forEach(unit -> unit.parameters().noteNewValues());
        }
    }

    private List<FsdpUnit> expected() {
        return lastOrder.isEmpty() ? units : lastOrder;
    }

    /** The forward pass of a unit begins. */
    void beforeForward(FsdpUnit unit) {
        requireOpen("unit '" + unit.name() + "' computes");
        if (isBackward) {
            throw new IllegalStateException("unit '" + unit.name() + "' computes again within a backward pass. Call"
                    + " Recompute.apply(block) before FullyShard.apply(block, sharding).");
        }
        guarded(() -> {
            if (order.isEmpty()) {
                freeDroppedGradients();
            }
            requireCurrentRoot();
            readAhead.begin(unit);
            unit.gather();
            unit.requireCurrent();
            int at = order.size();
            order.add(unit);
            boolean isExpected = at < expected().size() && expected().get(at).equals(unit);
            prefetch(expected(), (isExpected ? at : expected().indexOf(unit)) + 1, 1);
            if (GradMode.is_enabled()) {
                openPasses.merge(unit, 1, Integer::sum);
            }
        });
    }

    void afterForward(FsdpUnit unit) {
        if (options.reshardAfterForward() == FsdpOptions.KEEP && GradMode.is_enabled()) {
            return;
        }
        guarded(() -> {
            unit.reshardAfterForward(GradMode.is_enabled());
            if (GradMode.is_enabled() && order.size() >= expected().size()) { // the backward pass follows
                readAhead.begin(order, order.size() - 1);
                readAhead.begin(order, order.size() - 2);
            }
        });
    }

    /**
     * The backward pass reaches the output of a unit.
     *
     * @param computed {@link FsdpUnit#gatheredVersions} in the forward pass
     */
    void beforeBackward(FsdpUnit unit, long[] computed) {
        if (!isBackward) {
            throw outsideOfStep("unit '" + unit.name() + "'");
        }
        guarded(() -> {
            readAhead.begin(unit);
            unit.gather();
            unit.requireValuesOf(computed);
            int at = order.subList(0, reached).lastIndexOf(unit);
            reached = Math.max(0, at < 0 ? order.lastIndexOf(unit) : at);
            prefetch(order, reached - 1, -1);
        });
    }

    /** Begins to gather the next units of an order, and to read the unit behind these units. */
    private void prefetch(List<FsdpUnit> from, int first, int direction) {
        readAhead.begin(from, first);
        for (int i = 0; i < options.prefetch(); i++) {
            int at = first + i * direction;
            readAhead.begin(from, at + direction);
            if (at >= 0 && at < from.size()) {
                from.get(at).beginGather();
            }
        }
    }

    /**
     * The backward pass has computed the gradients of a unit's parameters and of its input, for one of the blocks that
     * share the unit.
     */
    void afterBackward(FsdpUnit unit) {
        guarded(() -> {
            if (unit != root && !staysWhole) {
                unit.reshard(); // the root stays whole for further passes of the step
            }
            int left = openPasses.merge(unit, -1, Integer::sum);
            if (!isSyncing && unit != root) {
                unit.parameters().moduleGradients().widen();
            } else if (isSyncing && left <= 0) {
                reduce(unit);
            }
        });
    }

    /** Begins to reduce the gradients of a unit, if there are any. They are reduced while the next unit computes. */
    private void reduce(FsdpUnit unit) {
        if (!unit.parameters().moduleGradients().isPresent()) {
            return;
        }
        reductions.proceed();
        reductions.finish(groups.addsInTwoStages() ? 1 : 0); // the second stage runs while the next unit computes
        writes.finish(1); // the memory of the gradients of two units
        unit.reduce(reductions, writes);
    }

    /** Reduces the gradients that remain. Returns when all gradients are in their shards, offloaded gradients too. */
    private void reduceAll() {
        units().reversed().forEach(this::reduce);
        reductions.finish(0);
        writes.finish(0);
    }

    /** A backward pass computes gradients of the module's tensors from now on. */
    private void removePlaceholders() {
        units().forEach(unit -> unit.parameters().moduleGradients().removePlaceholders());
    }

    /** The backward pass has ended. */
    private void setPlaceholders() {
        units().forEach(unit -> unit.parameters().moduleGradients().setPlaceholders());
    }

    /** Checks all units before the first change. */
    private void freeDroppedGradients() {
        units().forEach(unit -> unit.parameters().requireDroppedTogether());
        units().forEach(unit -> unit.parameters().freeDroppedGradients());
    }

    /** Runs one of several backward passes of a step. The last pass of a unit begins to reduce its gradients. */
    void backwardOfStage(Runnable autograd, boolean isLast) {
        requireOpen("a backward pass runs");
        guarded(() -> {
            isBackward = true;
            holdsGradients = true;
            freeDroppedGradients();
            removePlaceholders();
            isSyncing = isLast;
            staysWhole = !isLast && options.reshardAfterForward() == FsdpOptions.KEEP;
            try {
                autograd.run();
            } finally {
                isBackward = false;
                isSyncing = true;
                staysWhole = false;
            }
            // Not the root: a pipeline adds up the gradients of its tied parameters, which are there.
            units.forEach(unit -> unit.parameters().moduleGradients().widen());
        });
    }

    /** Begins to reduce the gradients of units that are complete. The root follows at the end of the step. */
    void reduceComplete(Predicate<FsdpUnit> isComplete) {
        guarded(() -> units.stream().filter(isComplete).forEach(this::reduce));
    }

    /** Reduces all remaining gradients of a step, and frees the whole parameters. */
    void finishStages() {
        guarded(() -> {
            reduceAll();
            setPlaceholders();
            units.forEach(FsdpUnit::reshard);
            endOrder();
            hasTrained = true;
        });
    }

    /** Runs a backward pass. Afterwards the shards have their gradients, unless gradients only add up. */
    void backward(Tensor loss) {
        requireOpen("a backward pass runs");
        if (loss.numel() != 1) {
            throw new IllegalArgumentException("step.backward needs a loss of one element, not a tensor of shape "
                    + TensorMemory.shape(loss) + ". Take its mean or its sum.");
        }
        guarded(() -> {
            isBackward = true;
            holdsGradients = true;
            requireCurrentRoot();
            freeDroppedGradients();
            removePlaceholders();
            reached = order.size();
            prefetch(order, order.size() - 1, -1);
            try {
                AutogradBridge.instance().backward(List.of(loss), List.of());
            } finally {
                isBackward = false;
            }
            if (!isSyncing) {
                units().forEach(unit -> unit.parameters().moduleGradients().widen());
            } else {
                // Units whose input needs no gradient have no end of their own. Each rank reduces the same units.
                reduceAll();
            }
            setPlaceholders();
            units.forEach(FsdpUnit::reshard);
            endOrder();
            hasTrained = true;
        });
    }

    private void endOrder() {
        if (!order.isEmpty()) {
            lastOrder = List.copyOf(order);
            order.clear();
        }
        reached = 0;
    }

    /** The step ends: nothing stays whole. */
    void end() {
        boolean isForeign = failure == null && mayMissBackward() && !holdsGradients && hasGradients();
        if (failure == null) {
            guarded(() -> {
                endOrder();
                openPasses.clear();
                units().forEach(FsdpUnit::reshard);
            });
        }
        units().forEach(unit -> unit.parameters().detachWhole());
        isOpen = false;
        if (isForeign) {
            throw outsideOfStep("the step");
        }
    }

    /**
     * Whether a backward pass of autograd alone could have run without a word. A unit of a block refuses such a pass, and
     * a program that has trained knows how to begin one.
     */
    private boolean mayMissBackward() {
        return !hasTrained || units.isEmpty();
    }

    private boolean hasGradients() {
        return units().stream()
                .anyMatch(unit -> unit.parameters().moduleGradients().isPresent());
    }

    private static IllegalStateException outsideOfStep(String what) {
        return new IllegalStateException(
                "a backward pass of " + what + " runs without the step, so no rank would reduce"
                        + " its gradients. Call step.backward(loss) in place of loss.backward().");
    }

    private void requireOpen(String what) {
        requireSound();
        if (!isOpen) {
            throw new IllegalStateException(what + " outside a step, where the parameters are not gathered. Compute"
                    + " inside a step, also for an evaluation: try (Step step = fsdp.step()) { ... }");
        }
    }

    /** Outside of steps. */
    void requireClosed() {
        if (isOpen) {
            throw new IllegalStateException("a step is open. Close the step before the next step, and before the whole"
                    + " parameters are read.");
        }
    }

    private void requireSound() {
        if (failure != null) {
            throw failure;
        }
    }

    private void guarded(Runnable part) {
        try {
            part.run();
        } catch (RuntimeException e) {
            if (failure == null) {
                failure = e;
                groups.abort(e);
            }
            throw failure;
        }
    }
}
