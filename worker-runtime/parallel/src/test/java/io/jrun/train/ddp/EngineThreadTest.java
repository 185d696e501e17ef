package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.EngineThread;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Hooks on a thread that libtorch has made: those of parameters on a GPU run there. */
class EngineThreadTest {
    private static final int RANKS = 2;
    private static final int STEPS = 3;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** Makes a tensor in each call, and remembers the thread. */
    private record Allocating(CommunicationHook inner, List<Tensor> made, Set<Thread> threads)
            implements CommunicationHook {
        @Override
        public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
            made.add(bucket.flat().mul(new Scalar(2.0)));
            threads.add(Thread.currentThread());
            return inner.reduce(bucket, group);
        }
    }

    /** Steps with accumulation, with a new order of the buckets after the first, and with several buckets. */
    private static List<float[]> trained(boolean onEngineThread) {
        AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(RANKS);
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
            TinyGpt module = Training.model(1);
            Thread mine = Thread.currentThread();
            var hook = new Allocating(
                    new AllReduceHook(),
                    Collections.synchronizedList(new ArrayList<>()),
                    ConcurrentHashMap.newKeySet());
            DdpOptions options = DdpOptions.DEFAULT.withBuckets(2000, 10_000);
            try (var model = new DistributedDataParallel<>(module, world.group(), options)) {
                model.registerHook(hook);
                AdamW optimizer = new AdamW(module.parameters(), new AdamWOptions(1e-2));
                for (int current = 0; current < STEPS; current++) {
                    optimizer.zero_grad();
                    try (Step step = model.step()) {
                        try (NoSync _ = model.noSync()) {
                            backward(onEngineThread, step, Training.loss(module, current, world.rank()));
                        }
                        backward(onEngineThread, step, Training.loss(module, current, 10 + world.rank()));
                        optimizer.step();
                    }
                }
            }
            if (onEngineThread) {
                assertThat(hook.threads()).hasSizeGreaterThan(0).doesNotContain(mine);
            } else {
                assertThat(hook.threads()).containsExactly(mine);
            }
            assertThat(hook.made()).hasSizeGreaterThan(STEPS).allMatch(made -> made.isNull());
            results.set(world.rank(), Training.values(module));
        });
        assertEqualBits(results.get(0), results.get(1));
        return results.get(0);
    }

    private static void backward(boolean onEngineThread, Step step, Tensor loss) {
        if (onEngineThread) {
            EngineThread.run(() -> step.backward(loss));
        } else {
            step.backward(loss);
        }
    }

    @Test
    void ddpOnLibtorchsThreadHasTheSameBitsAndFreesWhatHooksMake() {
        assertEqualBits(trained(true), trained(false));
    }

    @Test
    void anExceptionOfAHookOnLibtorchsThreadReachesTheCaller() {
        UnsupportedOperationException thrown = new UnsupportedOperationException("from the hook");
        Tensor leaf = torch.ones(3).requires_grad_(true);
        try (LeafHooks _ = AutogradBridge.instance().watch(List.of(leaf), _ -> {
            throw thrown;
        })) {
            EngineThread.run(() -> assertThatThrownBy(
                            () -> AutogradBridge.instance().backward(List.of(leaf.sum()), List.of()))
                    .isSameAs(thrown));
        }
    }

    /** Both hooks of a call run on libtorch's thread. */
    @Test
    void aBackwardMethodInJavaRunsOnLibtorchsThread() {
        List<Thread> threads = Collections.synchronizedList(new ArrayList<>());
        AutogradFunction triple = new AutogradFunction() {
            @Override
            public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
                context.save(inputs.getFirst());
                return List.of(inputs.getFirst().mul(inputs.getFirst()));
            }

            @Override
            public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
                threads.add(Thread.currentThread());
                return List.of(Objects.requireNonNull(gradients.getFirst())
                        .mul(context.saved(0))
                        .mul(new Scalar(2.0)));
            }
        };
        Tensor leaf = torch.full(new long[] {3}, new Scalar(5.0)).requires_grad_(true);
        EngineThread.run(() -> {
            Tensor square =
                    AutogradBridge.instance().apply(triple, List.of(leaf)).getFirst();
            AutogradBridge.instance().backward(List.of(square.sum()), List.of());
        });
        assertThat(threads).hasSize(1).doesNotContain(Thread.currentThread());
        assertThat(leaf.grad().sum().item_double()).isEqualTo(30);
    }
}
