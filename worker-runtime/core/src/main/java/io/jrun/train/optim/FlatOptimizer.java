package io.jrun.train.optim;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * An optimizer over flat memory. The first step moves the parameters of each type into one block of memory, in the
 * order of their gradients, on their device. The parameter tensors stay the same objects. Each step is one kernel call
 * for each parameter group. The result has the same bits as separate updates of the parameters, with any number of
 * threads. A parameter without a gradient does not change. A backward pass that needs the values of before a step is
 * libtorch's error, as with libtorch's optimizers.
 *
 * <p>Parameters of bfloat16 and float16 have float32 master copies and float32 state.
 *
 * <p>One thread at a time. Steps do not wait for a device; {@link #state} does. With DDP: step after the synchronised
 * backward pass; close this object before the group.
 */
public final class FlatOptimizer implements ParameterOptimizer {
    private static final String STEP = "step";
    private static final String MASTER = "master";

    private final UpdatedParameters updated;
    private final Map<String, Tensor> parameters;
    /** The identities of all parameters. Some may have no elements on this rank. */
    private final Set<Long> identities;

    private final UpdateRule rule;
    private final List<ParameterGroup> groups;
    private final LearningRateSchedule schedule;
    private final PaddedGradients paddedGradients;
    private List<FlatParameters> flats = List.of();
    private long steps;

    /**
     * An optimizer before its first step.
     *
     * @param parameters parameters by name; the optimizer updates the elements of this rank, and ignores parameters
     *     that require no gradient
     * @param groups each parameter belongs to the first group that accepts the parameter
     * @param schedule the learning rate of each step, and the momentum if the schedule has one
     * @throws IllegalArgumentException if a parameter is in no group or has no floating point type, if the parameters
     *     are on several devices, or if the schedule has a momentum and the rule has none
     * @throws IllegalStateException if a parallelism was applied since the parameters were read, or if it keeps the
     *     gradients elsewhere
     */
    public FlatOptimizer(
            Map<String, ShardedTensor> parameters,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        this(parameters, rule, groups, schedule, PaddedGradients.NONE);
    }

    /**
     * Like {@link #FlatOptimizer(Map, UpdateRule, List, LearningRateSchedule)}, but the gradients stay in
     * {@code paddedGradients}.
     *
     * @param paddedGradients memory of another object, such as {@code DistributedDataParallel.gradientMemory()}; it
     *     decides which gradients {@link #zeroGradients} drops
     */
    public FlatOptimizer(
            Map<String, ShardedTensor> parameters,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule,
            PaddedGradients paddedGradients) {
        Libtorch.load();
        this.paddedGradients = paddedGradients;
        updated = UpdatedParameters.of(parameters);
        this.parameters = Parameters.here(parameters);
        this.parameters.values().removeIf(tensor -> !tensor.requires_grad());
        identities = parameters.values().stream()
                .map(parameter -> TensorMemory.identity(parameter.local()))
                .collect(Collectors.toSet());
        this.rule = rule;
        this.groups = List.copyOf(groups);
        this.schedule = schedule;
        UpdateRule _ = rule.at(schedule, 0); // Throws if the rule keeps no state for the momentum of the schedule.
        this.parameters.entrySet().forEach(parameter -> {
            ParameterGroup.of(this.groups, parameter);
        });
        requireOneDevice();
    }

    private void requireOneDevice() {
        Map<Device, String> names = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> names.putIfAbsent(TensorMemory.device(tensor), name));
        if (names.size() > 1) {
            throw new IllegalArgumentException("the parameters are on several devices: "
                    + names.entrySet().stream()
                            .map(found -> "'" + found.getValue() + "' on " + found.getKey())
                            .collect(Collectors.joining(", "))
                    + ". Move the module to one device with to(device, false).");
        }
    }

    /**
     * Checks that this optimizer updates the tensors of some parameters.
     *
     * @throws IllegalArgumentException if this optimizer updates another tensor
     */
    public void requireUpdates(Map<String, ShardedTensor> these) {
        parameters.forEach((name, tensor) -> {
            ShardedTensor given = these.get(name);
            if (given == null || TensorMemory.identity(given.local()) != TensorMemory.identity(tensor)) {
                throw new IllegalArgumentException("the optimizer updates parameter '" + name
                        + "', which is not one of the given parameters. Give both the parameters of one model, from the"
                        + " same call: Parameters.of(model) or FullyShardedDataParallel.parameters().");
            }
        });
    }

    /** The learning rate of the next step. */
    public double learningRate() {
        return schedule.at(steps);
    }

    @Override
    public long steps() {
        return steps;
    }

    /** @throws IllegalStateException if no parameter has a gradient, or if a parallelism was applied since construction */
    @Override
    public void step() {
        updated.requireReady();
        update(parameters.keySet());
        endStep();
    }

    /** The host does not know the decision of a GPU: the schedule advances also after a skipped step, the states do not. */
    @Override
    public void step(Tensor skip) {
        if (!TensorMemory.device(skip).isCpu()) {
            updated.requireReady();
            update(parameters.keySet(), skip);
            endStep();
        } else if (DeviceWaits.number(skip) == 0) {
            step();
        }
    }

    /**
     * Updates those of the named parameters that have a gradient: a part of a step. A program that updates parameters
     * when their gradients are ready calls this method for all parameters, then {@link #endStep}.
     */
    public void update(Collection<String> names) {
        update(names, null);
    }

    private void update(Collection<String> names, @Nullable Tensor skip) {
        Set<String> chosen = Set.copyOf(names);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            flatten();
            double learningRate = learningRate();
            UpdateRule present = rule.at(schedule, steps);
            flats.forEach(flat ->
                    flat.step(present, groups, learningRate, steps, skip, member -> chosen.contains(member.name())));
        }
    }

    /** Ends a step that consists of calls of {@link #update}: the schedule advances. */
    public void endStep() {
        steps++;
        ParameterNotes.noteUpdate(identities);
    }

    /** Drops the gradients whose memory {@link PaddedGradients} frees, and sets all others to zero in place. */
    @Override
    public void zeroGradients() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            ParameterNotes.dropUnreduced(identities);
            paddedGradients.drop(identities);
            List<Tensor> gradients = parameters.values().stream()
                    .map(Tensor::mutable_grad)
                    .filter(Tensor::defined)
                    .toList();
            if (DeviceNorm.isOnDevice(gradients)) {
                Kernels.ZERO.call(AtenOperator.list(gradients)); // one kernel for many gradients
            } else {
                gradients.forEach(Tensor::zero_);
            }
        }
    }

    /** The kernels, found once when libtorch is loaded. */
    private static final class Kernels {
        static final AtenOperator ZERO = AtenOperator.of("aten::_foreach_zero_", "");

        private Kernels() {}
    }

    private void flatten() {
        if (!flats.isEmpty()) {
            return;
        }
        updated.requireUnchanged();
        Map<torch.ScalarType, List<Map.Entry<String, Tensor>>> byType = new LinkedHashMap<>();
        parameters.entrySet().stream()
                .sorted(Comparator.comparingLong(parameter -> gradientAddress(parameter.getValue())))
                .forEach(parameter -> byType.computeIfAbsent(
                                parameter.getValue().scalar_type().intern(), _ -> new ArrayList<>())
                        .add(parameter));
        flats = byType.values().stream()
                .map(members -> new FlatParameters(members, groups, rule, paddedGradients))
                .toList();
    }

    private static long gradientAddress(Tensor parameter) {
        Tensor gradient = parameter.mutable_grad();
        return gradient.defined() ? TensorMemory.address(gradient) : Long.MAX_VALUE;
    }

    /**
     * Copies of the state for {@link #load}, by name: {@code PARAMETER.exp_avg}, {@code PARAMETER.step} and the other
     * names of torch's optimizers, and {@code PARAMETER.master} for parameters of fewer than 32 bits.
     */
    public Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (FlatParameters flat : flats) {
                long[] done = flat.steps();
                for (int i = 0; i < done.length; i++) {
                    FlatParameter member = flat.members().get(i);
                    views(flat, member)
                            .forEach((name, tensor) ->
                                    state.put(member.name() + "." + name, TensorMemory.own(tensor.clone())));
                    state.put(member.name() + "." + STEP, TensorMemory.own(scalar(done[i])));
                }
            }
        }
        return state;
    }

    /**
     * Loads a saved state.
     *
     * @param state the result of {@link #state}; empty for an optimizer before its first step
     * @param stepsDone the result of {@link #steps}
     * @throws IllegalArgumentException if a tensor is missing or has another shape or type, or if the state is that of
     *     another rule; the optimizer is then unchanged
     */
    public void load(Map<String, Tensor> state, long stepsDone) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (!state.isEmpty()) {
                requireFits(state);
                flats.forEach(flat -> {
                    flat.members()
                            .forEach(member -> views(flat, member)
                                    .forEach((name, tensor) -> tensor.copy_(require(state, member, name))));
                    flat.setSteps(flat.members().stream()
                            .mapToLong(member -> DeviceWaits.integer(require(state, member, STEP)))
                            .toArray());
                });
            }
        }
        steps = stepsDone;
    }

    /**
     * Checks a saved state before {@link #load}.
     *
     * @throws IllegalArgumentException as {@link #load}
     */
    public void requireFits(Map<String, Tensor> state) {
        if (state.isEmpty()) {
            return;
        }
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            flatten();
            Map<String, List<String>> saved = new HashMap<>();
            state.keySet().forEach(full -> {
                int dot = full.lastIndexOf('.');
                saved.computeIfAbsent(full.substring(0, Math.max(0, dot)), _ -> new ArrayList<>())
                        .add(full.substring(dot + 1));
            });
            flats.forEach(flat -> flat.members()
                    .forEach(
                            member -> requireState(flat, member, state, saved.getOrDefault(member.name(), List.of()))));
        }
    }

    /** {@code names} are those of the saved states of the member. */
    private void requireState(
            FlatParameters flat, FlatParameter member, Map<String, Tensor> state, List<String> names) {
        Map<String, Tensor> wanted = new LinkedHashMap<>(views(flat, member));
        wanted.put(STEP, scalar(0));
        wanted.forEach((name, tensor) -> {
            Tensor saved = require(state, member, name);
            if (!describe(saved).equals(describe(tensor))) {
                throw new IllegalArgumentException("optimizer state '" + member.name() + "." + name + "' is "
                        + describe(saved) + "; this optimizer needs " + describe(tensor));
            }
        });
        names.stream().filter(name -> !wanted.containsKey(name)).findFirst().ifPresent(name -> {
            throw new IllegalArgumentException("the optimizer state has '" + member.name() + "." + name
                    + "', but this optimizer keeps " + wanted.keySet()
                    + ". Use the optimizer that the state was made with.");
        });
    }

    private static Tensor require(Map<String, Tensor> state, FlatParameter member, String name) {
        String full = member.name() + "." + name;
        Tensor saved = state.get(full);
        if (saved == null) {
            throw new IllegalArgumentException("the optimizer state lacks '" + full + "'");
        }
        return saved;
    }

    private Map<String, Tensor> views(FlatParameters flat, FlatParameter member) {
        Map<String, Tensor> views = new LinkedHashMap<>();
        for (int i = 0; i < flat.states().size(); i++) {
            views.put(rule.stateNames().get(i), member.view(flat.states().get(i)));
        }
        Tensor master = flat.master();
        if (master != null) {
            views.put(MASTER, member.view(master));
        }
        return views;
    }

    private static Tensor scalar(long value) {
        try (TensorOptions options = new TensorOptions(torch.ScalarType.Long)) {
            return torch.scalar_tensor(new Scalar(value), options);
        }
    }

    private static String describe(Tensor tensor) {
        return tensor.scalar_type().intern() + TensorMemory.shape(tensor);
    }

    /** Releases the references to gradients. Parameters keep their values and their memory. */
    @Override
    public void close() {
        flats.forEach(FlatParameters::close);
    }
}
