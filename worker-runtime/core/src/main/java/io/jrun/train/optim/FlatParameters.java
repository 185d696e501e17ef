package io.jrun.train.optim;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Parameters of one type in contiguous memory, with their state. Gradients lie in the same order. Neighbouring
 * parameters with neighbouring gradients form one {@link FlatRange}, which the kernel updates in one call.
 *
 * <p>A kernel's vector loop and its scalar remainder round differently. This class therefore pads every parameter to
 * whole vectors, and splits a range if libtorch's threads would split the range within a vector. The result then does
 * not depend on the layout.
 *
 * <p>Parameters of fewer than 32 bits have float32 state and a float32 master copy, which takes the update.
 */
final class FlatParameters implements AutoCloseable {
    /** libtorch's kernels give a thread at least this many elements. */
    private static final long KERNEL_GRAIN = 512;

    /** Elements: a multiple of the elements of any vector register. */
    private static final long VECTOR = 64;

    private final List<FlatParameter> members;
    private final Device device;
    private final Tensor values;
    private final @Nullable Tensor master;
    private final @Nullable Tensor wideGradients;
    private final List<Tensor> states;
    private final FlatGradients gradients;
    /**
     * The number of steps of each member, float32 on the device; null on the CPU. On a device only the device knows
     * which steps were skipped.
     */
    private final @Nullable Tensor counts;

    private List<FlatRange> ranges = List.of();
    /** The gradients' addresses and the step counts for which {@link #ranges} was made. */
    private long[] rangesKey = {};

    /**
     * Moves the parameters' values into one block of memory. The tensors stay the same objects.
     *
     * @param parameters parameters of one type, in the order of their gradients in memory
     * @param paddedGradients see {@link FlatGradients}
     */
    FlatParameters(
            Collection<Map.Entry<String, Tensor>> parameters,
            List<ParameterGroup> groups,
            UpdateRule rule,
            PaddedGradients paddedGradients) {
        torch.ScalarType type =
                parameters.iterator().next().getValue().scalar_type().intern();
        boolean isNarrow = type == torch.ScalarType.BFloat16 || type == torch.ScalarType.Half;
        members = place(parameters, groups);
        device = TensorMemory.device(members.getFirst().tensor());
        gradients = new FlatGradients(
                paddedGradients, device, type, members.getLast().end());
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            values = zeros(type);
            for (FlatParameter member : members) {
                Tensor view = member.view(values);
                view.copy_(member.tensor());
                member.tensor().set_data(view);
            }
            master = isNarrow ? TensorMemory.own(values.to(torch.ScalarType.Float)) : null;
            wideGradients = isNarrow ? zeros(torch.ScalarType.Float) : null;
            states = rule.stateNames().stream()
                    .map(_ -> zeros(isNarrow ? torch.ScalarType.Float : type))
                    .toList();
            counts = device.isCpu()
                    ? null
                    : TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, members.size()));
        }
    }

    private static List<FlatParameter> place(
            Collection<Map.Entry<String, Tensor>> parameters, List<ParameterGroup> groups) {
        List<FlatParameter> placed = new ArrayList<>();
        long offset = 0;
        for (Map.Entry<String, Tensor> parameter : parameters) {
            FlatParameter member = new FlatParameter(
                    parameter.getKey(), parameter.getValue(), ParameterGroup.of(groups, parameter), offset);
            placed.add(member);
            offset = member.end();
        }
        return List.copyOf(placed);
    }

    private Tensor zeros(torch.ScalarType type) {
        return TensorMemory.own(
                TensorMemory.zeros(device, type, members.getLast().end()));
    }

    /** The parameters in memory order. */
    List<FlatParameter> members() {
        return members;
    }

    /** One flat tensor for each of the rule's states. */
    List<Tensor> states() {
        return states;
    }

    /** The float32 master copies; null for parameters of 32 bits or more. */
    @Nullable
    Tensor master() {
        return master;
    }

    /**
     * The number of steps of each member, in the order of {@link #members}, without the steps that the device has
     * skipped. Waits for the device.
     */
    long[] steps() {
        if (counts == null) {
            return members.stream().mapToLong(FlatParameter::steps).toArray();
        }
        try (PointerScope _ = new PointerScope()) {
            FloatPointer onHost = DeviceWaits.onHost(counts).data_ptr_float();
            return IntStream.range(0, members.size())
                    .mapToLong(member -> (long) onHost.get(member))
                    .toArray();
        }
    }

    /** Sets the number of steps of each member, in the order of {@link #members}. */
    void setSteps(long[] steps) {
        for (int i = 0; i < steps.length; i++) {
            members.get(i).setSteps(steps[i]);
        }
        if (counts != null) {
            try (PointerScope _ = new PointerScope()) {
                counts.copy_(Tensor.create(steps));
            }
        }
    }

    /**
     * Makes one step of every chosen parameter that has a gradient.
     *
     * @param number the number of the step of the optimizer
     * @param skip see {@link UpdateStep}
     */
    void step(
            UpdateRule rule,
            List<ParameterGroup> groups,
            double learningRate,
            long number,
            @Nullable Tensor skip,
            Predicate<FlatParameter> isChosen) {
        refreshRanges(isChosen);
        ranges.forEach(FlatRange::widen);
        Map<List<Long>, List<FlatRange>> calls = new LinkedHashMap<>();
        for (FlatRange range : ranges) {
            calls.computeIfAbsent(List.of((long) range.group(), range.steps()), _ -> new ArrayList<>())
                    .add(range);
        }
        countSteps(skip);
        calls.values().forEach(alike -> apply(rule, groups, learningRate, skip, alike));
        ranges.forEach(range -> range.stepDone(number));
        ranges.forEach(FlatRange::narrowResult);
    }

    /** Adds this step to the counts on the device, unless the device skips the step. */
    private void countSteps(@Nullable Tensor skip) {
        Tensor one = skip == null ? null : skip.neg().add(new Scalar(1f));
        for (FlatRange range : ranges) {
            Tensor done = range.counts();
            if (done != null && one != null) {
                done.add_(one);
            } else if (done != null) {
                done.add_(new Scalar(1f));
            }
        }
    }

    /** Updates ranges that have equal options and equal step counts. */
    private void apply(
            UpdateRule rule,
            List<ParameterGroup> groups,
            double learningRate,
            @Nullable Tensor skip,
            List<FlatRange> alike) {
        ParameterGroup group = groups.get(alike.getFirst().group());
        List<List<Tensor>> rangeStates = new ArrayList<>();
        for (int state = 0; state < states.size(); state++) {
            int number = state;
            rangeStates.add(
                    alike.stream().map(range -> range.states().get(number)).toList());
        }
        rule.apply(
                alike.stream().map(FlatRange::parameters).toList(),
                alike.stream().map(FlatRange::gradients).toList(),
                rangeStates,
                new UpdateStep(
                        alike.getFirst().steps(),
                        counts == null
                                ? null
                                : alike.stream().map(FlatRange::count).toList(),
                        learningRate * group.rateFactor(),
                        group.weightDecay(),
                        skip));
    }

    private void refreshRanges(Predicate<FlatParameter> isChosen) {
        long[] key = new long[members.size()];
        long address = TensorMemory.address(values);
        gradients.findForeign();
        for (int i = 0; i < key.length; i++) {
            requireHere(members.get(i), address);
            key[i] = isChosen.test(members.get(i)) ? gradients.moveHere(members.get(i)) : 0;
        }
        if (!Arrays.equals(key, rangesKey) || ranges.stream().anyMatch(FlatParameters::hasSplit)) {
            ranges.forEach(FlatRange::close);
            ranges = makeRanges(key);
            rangesKey = key;
        }
    }

    private void requireHere(FlatParameter member, long address) {
        if (TensorMemory.address(member.tensor()) != address + member.offset() * values.element_size()) {
            throw new IllegalStateException("parameter '" + member.name() + "' has other memory than after the last"
                    + " step, so the step would not change it: another optimizer, Module.to or set_data has moved it."
                    + " Make one optimizer for each parameter, after all such calls.");
        }
    }

    /** Whether the members of a range no longer have equal step counts. */
    private static boolean hasSplit(FlatRange range) {
        FlatParameter first = range.members().getFirst();
        return range.members().stream().anyMatch(member -> !member.hasSameSteps(first));
    }

    private List<FlatRange> makeRanges(long[] addresses) {
        List<FlatRange> made = new ArrayList<>();
        for (int from = 0; from < addresses.length; from++) {
            if (addresses[from] != 0) {
                int to = from + 1;
                while (to < addresses.length && continues(addresses, from, to)) {
                    to++;
                }
                made.addAll(ranges(members.subList(from, to), addresses[from]));
                from = to - 1;
            }
        }
        return List.copyOf(made);
    }

    private boolean continues(long[] addresses, int from, int next) {
        FlatParameter first = members.get(from);
        FlatParameter other = members.get(next);
        return addresses[next] - addresses[from] == (other.offset() - first.offset()) * values.element_size()
                && other.group() == first.group()
                && other.hasSameSteps(first);
    }

    /**
     * One range over neighbours, or several ranges if libtorch's threads would split one range within a vector. The
     * kernels of a GPU have no remainder that rounds differently.
     */
    private List<FlatRange> ranges(List<FlatParameter> neighbours, long gradientAddress) {
        long offset = neighbours.getFirst().offset();
        List<FlatRange> made = new ArrayList<>();
        long elements = neighbours.getLast().end() - offset;
        for (long size : device.isCpu() ? sizes(elements, torch.get_num_threads()) : List.of(elements)) {
            made.add(range(neighbours, offset, size, gradientAddress, made.isEmpty()));
            gradientAddress += size * values.element_size();
            offset += size;
        }
        return made;
    }

    /** Sizes whose sum is {@code elements}. {@code threads} threads divide each size into whole vectors. */
    static List<Long> sizes(long elements, int threads) {
        List<Long> sizes = new ArrayList<>();
        long shared = elements >= KERNEL_GRAIN * threads ? elements / (VECTOR * threads) * (VECTOR * threads) : 0;
        if (threads == 1) {
            shared = elements;
        }
        if (shared > 0) {
            sizes.add(shared);
        }
        for (long rest = elements - shared; rest > 0; rest -= KERNEL_GRAIN) {
            sizes.add(Math.min(rest, KERNEL_GRAIN));
        }
        return sizes;
    }

    private FlatRange range(
            List<FlatParameter> neighbours, long offset, long elements, long gradientAddress, boolean isFirst) {
        MemorySegment gradientMemory =
                MemorySegment.ofAddress(gradientAddress).reinterpret(elements * values.element_size());
        try (PointerScope _ = new PointerScope()) {
            Tensor parameters = TensorMemory.own(values.narrow(0, offset, elements));
            Tensor gradients = TensorMemory.own(TensorMemory.tensor(
                    gradientMemory, device, values.scalar_type().intern(), elements));
            List<Tensor> parts = states.stream()
                    .map(state -> TensorMemory.own(state.narrow(0, offset, elements)))
                    .toList();
            Tensor done = counts == null
                    ? null
                    : TensorMemory.own(counts.narrow(0, members.indexOf(neighbours.getFirst()), neighbours.size()));
            if (master == null || wideGradients == null) {
                return new FlatRange(neighbours, isFirst, parameters, gradients, parts, done, null);
            }
            return new FlatRange(
                    neighbours,
                    isFirst,
                    TensorMemory.own(master.narrow(0, offset, elements)),
                    TensorMemory.own(wideGradients.narrow(0, offset, elements)),
                    parts,
                    done,
                    new FlatRange.Narrow(parameters, gradients));
        }
    }

    @Override
    public void close() {
        ranges.forEach(FlatRange::close);
        ranges = List.of();
        rangesKey = new long[0];
    }
}
