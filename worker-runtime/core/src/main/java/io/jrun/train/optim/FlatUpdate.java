package io.jrun.train.optim;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Updates pieces of flat memory, with one kernel call for each parameter group. The result has the bits that {@link
 * FlatOptimizer} gives, if each piece begins on a cache line and is padded to a whole one. One thread at a time.
 */
public final class FlatUpdate {
    private final UpdateRule rule;
    private final List<ParameterGroup> groups;
    private final LearningRateSchedule schedule;

    /** Updates by {@code rule}; each parameter belongs to the first of {@code groups} that takes it. */
    public FlatUpdate(UpdateRule rule, List<ParameterGroup> groups, LearningRateSchedule schedule) {
        this.rule = rule;
        this.groups = List.copyOf(groups);
        this.schedule = schedule;
        UpdateRule _ = rule.at(schedule, 0); // Throws if the rule keeps no state for the momentum of the schedule.
    }

    /**
     * Memory of one parameter group.
     *
     * @param values of one dimension
     * @param gradients of equal size and type
     * @param states one tensor for each of the rule's states, of equal size
     * @param group the number of the parameter group
     */
    public record Piece(Tensor values, Tensor gradients, List<Tensor> states, int group) {
        public Piece {
            states = List.copyOf(states);
        }
    }

    /** Names of the state tensors of each parameter. */
    public List<String> stateNames() {
        return rule.stateNames();
    }

    /**
     * The number of a parameter's group.
     *
     * @throws IllegalArgumentException if no group takes the parameter
     */
    public int group(String name, Tensor parameter) {
        return ParameterGroup.of(groups, Map.entry(name, parameter));
    }

    /**
     * Makes one step of all pieces.
     *
     * @param stepsBefore steps that the pieces have made
     */
    public void apply(Collection<Piece> pieces, long stepsBefore) {
        UpdateRule present = rule.at(schedule, stepsBefore);
        double learningRate = schedule.at(stepsBefore);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Map<Integer, List<Piece>> byGroup = new LinkedHashMap<>();
            for (Piece piece : pieces) {
                byGroup.computeIfAbsent(piece.group(), _ -> new ArrayList<>()).addAll(split(piece));
            }
            byGroup.forEach((number, alike) -> {
                ParameterGroup group = groups.get(number);
                List<List<Tensor>> states = new ArrayList<>();
                for (int state = 0; state < rule.stateNames().size(); state++) {
                    int index = state;
                    states.add(alike.stream()
                            .map(piece -> piece.states().get(index))
                            .toList());
                }
                present.apply(
                        alike.stream().map(Piece::values).toList(),
                        alike.stream().map(Piece::gradients).toList(),
                        states,
                        new UpdateStep(
                                stepsBefore, null, learningRate * group.rateFactor(), group.weightDecay(), null));
            });
        }
    }

    /** Cuts a piece where libtorch's threads would cut it within a vector. */
    private static List<Piece> split(Piece piece) {
        List<Piece> parts = new ArrayList<>();
        long offset = 0;
        long elements = piece.values().numel();
        boolean hasThreads = TensorMemory.device(piece.values()).isCpu();
        for (long size : hasThreads ? FlatParameters.sizes(elements, torch.get_num_threads()) : List.of(elements)) {
            long from = offset;
            parts.add(new Piece(
                    piece.values().narrow(0, from, size),
                    piece.gradients().narrow(0, from, size),
                    piece.states().stream()
                            .map(state -> state.narrow(0, from, size))
                            .toList(),
                    piece.group()));
            offset += size;
        }
        return parts;
    }

    /** A flat tensor of zeros on a device that lives until it is closed. */
    public static Tensor zeros(Device device, long elements, torch.ScalarType type) {
        // A scope of its own: a reference that the program's scope holds would keep the memory after close().
        try (PointerScope _ = new PointerScope()) {
            return TensorMemory.own(TensorMemory.zeros(device, type, elements));
        }
    }
}
