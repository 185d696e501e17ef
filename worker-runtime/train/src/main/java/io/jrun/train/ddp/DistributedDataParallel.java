package io.jrun.train.ddp;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * Trains a module on all ranks of a group at once: after each backward pass every {@code .grad} is the mean over ranks,
 * so equal optimizers keep equal parameters. Construction is collective; it checks that all ranks built the same model
 * and copies rank 0's parameters and buffers to the others.
 *
 * <p>Gradients live in the group's registered memory: close this object before the group, or do not touch gradients
 * afterwards. With a deterministic group the result equals, bit for bit, one process that adds up the ranks' gradients
 * in rank order and divides by their number.
 *
 * <p>Confined to one thread: the one that runs the steps. All ranks must run synchronised backward passes equally often.
 *
 * @param <M> the user's module; its forward method is called on {@link #module()}
 */
public final class DistributedDataParallel<M extends Module> implements AutoCloseable {
    private final M module;
    private final DdpOptions options;
    private final Map<String, Tensor> buffers;
    private final TensorCollectives collectives;
    private final GradientReducer reducer;

    /** Wraps {@code module} with {@link DdpOptions#DEFAULT}. */
    public DistributedDataParallel(M module, ProcessGroup group) {
        this(module, group, DdpOptions.DEFAULT);
    }

    /**
     * Wraps {@code module}.
     *
     * @throws DdpException if the ranks' models differ (naming the tensor and both shapes), or cannot be reduced
     */
    public DistributedDataParallel(M module, ProcessGroup group, DdpOptions options) {
        this(module, group, options, GradientReducer::new);
    }

    DistributedDataParallel(M module, ProcessGroup group, DdpOptions options, ReducerFactory reducers) {
        Libtorch.load();
        this.module = module;
        this.options = options;
        Map<String, Tensor> state = ModuleTensors.all(module);
        this.buffers = ModuleTensors.buffers(module);
        StateAgreement.verify(group, state);
        List<Parameter> trained = Parameter.trained(ModuleTensors.parameters(module));
        requireUsableDevice(group, state, TensorMemory.device(trained.getFirst().tensor()));
        this.collectives = new TensorCollectives(group);
        collectives.broadcastAll(state.values(), 0);
        this.reducer = reducers.create(trained, group, options);
    }

    private static void requireUsableDevice(ProcessGroup group, Map<String, Tensor> state, Device device) {
        state.forEach((name, tensor) -> {
            Device own = TensorMemory.device(tensor);
            group.unsupportedReason(own).ifPresent(reason -> {
                throw new DdpException("tensor '" + name + "' is on the device " + own + ": " + reason);
            });
            if (!own.equals(device)) {
                throw new DdpException(
                        "tensor '" + name + "' is on the device " + own + ", but others of the module are on " + device
                                + ". Move the module to one device with to(device, false).");
            }
        });
    }

    /** How the reducer is made; tests put faulty ones in to see that they are noticed. */
    @FunctionalInterface
    interface ReducerFactory {
        GradientReducer create(List<Parameter> parameters, ProcessGroup group, DdpOptions options);
    }

    /** The wrapped module. */
    public M module() {
        return module;
    }

    /** Opens a step: see {@link Step}. With {@link DdpOptions#syncBuffers()} all ranks take over rank 0's buffers. */
    public Step step() {
        reducer.requireIdle();
        if (options.syncBuffers() && reducer.isSyncing()) {
            collectives.broadcastAll(buffers.values(), 0);
        }
        return new Step(reducer);
    }

    /** Opens a scope without reduction, to add up the gradients of several batches. */
    public NoSync noSync() {
        return new NoSync(reducer);
    }

    /** What happened when in the last reduction. */
    public ReductionTimeline lastReduction() {
        return reducer.timeline();
    }

    /** Time that steps have stood still for communication since construction. */
    public Duration exposedCommunication() {
        return Duration.ofNanos(reducer.exposedNanos());
    }

    /** Parameter names per bucket, in the order in which buckets are reduced. */
    public List<List<String>> buckets() {
        return reducer.bucketNames();
    }

    /** Removes the hooks; the module and its gradients stay usable on their own. */
    @Override
    public void close() {
        reducer.close();
    }
}
