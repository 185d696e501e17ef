package io.jrun.train.pipeline;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.DeferredGradients;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.LibtorchScope;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.BinaryOperator;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The stages of this rank as layers of a model, for one step. The graph of a micro-batch is kept until its backward
 * pass.
 */
final class ModelStages implements StageComputation {
    /** A micro-batch between its forward and its backward pass. Both tensors are owned. */
    private record LivePass(
            @Nullable Tensor input, Tensor output, @Nullable DeferredGradients deferred) {}

    /** Stage and micro-batch. */
    private record MicroBatchKey(int stage, int microBatch) {
        static MicroBatchKey of(PipelineAction action) {
            return new MicroBatchKey(action.stage(), action.microBatch());
        }
    }

    private final Map<Integer, List<PipelineLayer>> layers;
    private final int lastStage;
    private final BinaryOperator<Tensor> loss;
    private final Optional<Supplier<Autocast>> autocast;
    private final boolean splitsBackward;
    private final TiedParameters tied;
    private final IntConsumer stageDone;
    private final BiConsumer<Runnable, Boolean> backwardRunner;
    private final Map<Integer, Integer> backwardsDone = new HashMap<>();
    private final Map<MicroBatchKey, LivePass> live = new HashMap<>();
    private List<Tensor> inputs = List.of();
    private List<Tensor> targets = List.of();
    private boolean isTraining;
    private final List<Tensor> losses = new ArrayList<>();

    /**
     * The stages.
     *
     * @param layers of each stage of this rank
     * @param lastStage number of the last stage of the whole pipeline
     * @param stageDone gets a stage when its gradients of a step are complete
     * @param backwardRunner runs a backward pass; gets whether it is the last of its stage
     */
    ModelStages(
            Map<Integer, List<PipelineLayer>> layers,
            int lastStage,
            BinaryOperator<Tensor> loss,
            Optional<Supplier<Autocast>> autocast,
            boolean splitsBackward,
            TiedParameters tied,
            IntConsumer stageDone,
            BiConsumer<Runnable, Boolean> backwardRunner) {
        this.layers = layers;
        this.lastStage = lastStage;
        this.loss = loss;
        this.autocast = autocast;
        this.splitsBackward = splitsBackward;
        this.tied = tied;
        this.stageDone = stageDone;
        this.backwardRunner = backwardRunner;
    }

    /** Takes the micro-batches of the next step. Without {@code training} nothing is kept for backward passes. */
    void begin(List<Tensor> newInputs, List<Tensor> newTargets, boolean training) {
        inputs = newInputs;
        targets = newTargets;
        isTraining = training;
        backwardsDone.clear();
        free();
    }

    /** The mean loss of the micro-batches of this step; 0 on ranks without the last stage. Waits for a device. */
    double loss() {
        double sum = 0;
        if (!losses.isEmpty()) {
            for (double loss : DeviceWaits.numbers(losses)) {
                sum += loss;
            }
        }
        return sum;
    }

    /** Frees the losses, and the tensors that a failed step has left. */
    void free() {
        losses.forEach(Tensor::close);
        losses.clear();
        live.values().forEach(ModelStages::free);
        live.clear();
    }

    private static void free(LivePass pass) {
        pass.output().close();
        if (pass.input() != null) {
            pass.input().close();
        }
        if (pass.deferred() != null) {
            pass.deferred().close();
        }
    }

    @Override
    public @Nullable Tensor forward(PipelineAction action, @Nullable Tensor received) {
        if (!isTraining) {
            try (NoGradGuard _ = new NoGradGuard();
                    LibtorchScope _ = new LibtorchScope()) {
                Tensor output = output(action, received);
                return action.stage() == lastStage ? null : TensorMemory.own(output.contiguous());
            } finally {
                if (received != null) {
                    received.close();
                }
            }
        }
        DeferredGradients deferred = splitsBackward ? new DeferredGradients() : null;
        try (LibtorchScope _ = new LibtorchScope();
                DeferredGradients.Scope _ = open(deferred)) {
            if (received != null) {
                Tensor _ = received.requires_grad_(true);
            }
            Tensor output = output(action, received);
            live.put(MicroBatchKey.of(action), new LivePass(received, TensorMemory.own(output), deferred));
            return action.stage() == lastStage
                    ? null
                    : TensorMemory.own(output.detach().contiguous());
        }
    }

    private static DeferredGradients.Scope open(@Nullable DeferredGradients deferred) {
        return deferred == null ? () -> {} : deferred.open();
    }

    /** The output of a stage; of the last stage its part of the mean loss. */
    private Tensor output(PipelineAction action, @Nullable Tensor received) {
        int microBatch = action.microBatch();
        Tensor x = received == null ? inputs.get(microBatch) : received;
        try (var _ = autocast.isPresent() ? autocast.get().get() : null) {
            for (PipelineLayer layer : Objects.requireNonNull(layers.get(action.stage()))) {
                x = layer.forward().apply(x);
            }
            if (action.stage() == lastStage) {
                Tensor whole = loss.apply(x, targets.get(microBatch));
                x = inputs.size() == 1 ? whole : whole.div(new Scalar((double) inputs.size()));
                try (NoGradGuard _ = new NoGradGuard()) {
                    losses.add(TensorMemory.own(x.detach()));
                }
            }
        }
        return x;
    }

    @Override
    public @Nullable Tensor backward(PipelineAction action, @Nullable Tensor outputGradient) {
        boolean isFull = action.kind() == ActionKind.FULL_BACKWARD;
        MicroBatchKey key = MicroBatchKey.of(action);
        LivePass pass = Objects.requireNonNull(isFull ? live.remove(key) : live.get(key));
        Tensor gradient;
        try (LibtorchScope _ = new LibtorchScope();
                DeferredGradients.Scope _ =
                        open(pass.deferred())) { // segments that are computed again run in the scope
            List<Tensor> gradients = outputGradient == null ? List.of() : List.of(outputGradient);
            runBackward(action.stage(), pass.deferred() == null && isLast(action.stage()), () -> {
                if (pass.output().requires_grad()) { // false for a first stage whose parameters are frozen
                    AutogradBridge.instance().backward(List.of(pass.output()), gradients);
                }
                if (isFull && pass.deferred() != null) {
                    pass.deferred().compute(); // a schedule may mix whole and split passes
                }
            });
            Tensor input = pass.input();
            gradient = input == null ? null : TensorMemory.own(input.grad().contiguous());
        } finally {
            if (outputGradient != null) {
                outputGradient.close();
            }
            if (isFull) {
                free(pass);
            } else {
                live.put(key, released(pass));
            }
        }
        if (isFull) {
            count(action);
        }
        return gradient;
    }

    /** Between the two parts of a backward pass, only the tensors that the weights need are kept. */
    private static LivePass released(LivePass pass) {
        if (pass.input() != null) {
            pass.input().close();
        }
        pass.output().close();
        return new LivePass(null, new Tensor(), pass.deferred());
    }

    @Override
    public void weightBackward(PipelineAction action) {
        LivePass pass = Objects.requireNonNull(live.remove(MicroBatchKey.of(action)));
        try {
            runBackward(action.stage(), false, Objects.requireNonNull(pass.deferred())::compute);
        } finally {
            free(pass);
        }
        count(action);
    }

    /** Runs code that adds to the gradients of a stage, which meanwhile has the gradients of its tied parameters. */
    private void runBackward(int stage, boolean isLast, Runnable code) {
        backwardRunner.accept(
                () -> {
                    tied.exchange(stage);
                    try {
                        code.run();
                    } finally {
                        tied.exchange(stage);
                    }
                },
                isLast);
    }

    private boolean isLast(int stage) {
        return backwardsDone.getOrDefault(stage, 0) == inputs.size() - 1;
    }

    private void count(PipelineAction action) {
        if (backwardsDone.merge(action.stage(), 1, Integer::sum) == inputs.size()) {
            stageDone.accept(action.stage());
        }
    }
}
