package io.jrun.train.optim;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** AdamW or SGD of libtorch, with a learning rate for each step: a kernel call for each operation and parameter. */
public final class LibtorchOptimizer implements ParameterOptimizer {
    /** The C++ library of the presets has the elements of a tuple in reverse order in memory. */
    private static final long FIRST_BETA = 1;

    private final UpdatedParameters updated;
    private final Map<String, Tensor> parameters;
    /** The identities of all parameters. Some may have no elements on this rank. */
    private final Set<Long> identities;

    private final UpdateRule rule;
    private final LearningRateSchedule schedule;
    private final Optimizer optimizer;
    private long steps;

    /**
     * An optimizer before its first step.
     *
     * @param parameters parameters by name; the optimizer updates the elements of this rank
     * @param rule the numbers of the arithmetic
     * @param schedule the learning rate of each step, and the momentum if the schedule has one
     * @throws IllegalStateException if a parallelism was applied since the parameters were read, or if it keeps the
     *     gradients elsewhere
     */
    public LibtorchOptimizer(
            Map<String, ShardedTensor> parameters, UpdateRule rule, double weightDecay, LearningRateSchedule schedule) {
        Libtorch.load();
        updated = UpdatedParameters.of(parameters);
        this.parameters = Collections.unmodifiableMap(Parameters.here(parameters));
        identities = parameters.values().stream()
                .map(parameter -> TensorMemory.identity(parameter.local()))
                .collect(Collectors.toSet());
        this.rule = rule;
        this.schedule = schedule;
        TensorVector tensors = new TensorVector(this.parameters.values().toArray(Tensor[]::new));
        optimizer = switch (rule) {
            case FusedAdamW(double beta1, double beta2, double epsilon) -> {
                AdamWOptions options = new AdamWOptions(1);
                options.betas().put(FIRST_BETA, beta1).put(1 - FIRST_BETA, beta2);
                options.eps().put(epsilon);
                options.weight_decay().put(weightDecay);
                yield new AdamW(tensors, options);
            }
            case FusedSgd(double momentum, boolean isNesterov) -> {
                SGDOptions options = new SGDOptions(1);
                options.momentum().put(momentum);
                options.nesterov().put(isNesterov);
                options.weight_decay().put(weightDecay);
                yield new SGD(tensors, options);
            }
        };
    }

    /** libtorch's own object, for its states. */
    public Optimizer libtorch() {
        return optimizer;
    }

    /** The tensors that libtorch's object updates, by name. */
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public void zeroGradients() {
        ParameterNotes.dropUnreduced(identities);
        optimizer.zero_grad();
    }

    /** @throws IllegalStateException if no parameter has a gradient, or if a parallelism was applied since construction */
    @Override
    public void step() {
        updated.requireReady();
        OptimizerOptions options = optimizer.param_groups().get(0).options();
        options.set_lr(schedule.at(steps));
        schedule.momentumAt(steps).ifPresent(momentum -> setMomentum(options, momentum));
        optimizer.step();
        noteWrites();
        ParameterNotes.noteUpdate(identities);
        steps++;
    }

    /** libtorch's SGD writes into the parameters without a note, so autograd and FSDP would not see the update. */
    private void noteWrites() {
        if (rule instanceof FusedSgd) {
            parameters.values().stream()
                    .filter(parameter -> parameter.mutable_grad().defined())
                    .forEach(TensorMemory::noteWrite);
        }
    }

    private void setMomentum(OptimizerOptions options, double momentum) {
        switch (rule) {
            case FusedAdamW _ -> new AdamWOptions(options).betas().put(FIRST_BETA, momentum);
            case FusedSgd _ -> new SGDOptions(options).momentum().put(momentum);
        }
    }

    @Override
    public long steps() {
        return steps;
    }

    /** Sets the number of steps of a loaded state: the schedule goes on from there. */
    public void setSteps(long done) {
        steps = done;
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
