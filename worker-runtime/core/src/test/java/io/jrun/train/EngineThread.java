package io.jrun.train;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Backward passes on a thread that libtorch has made, as the backward passes of a GPU. libtorch runs backward passes
 * inside hooks of backward passes on the same thread up to a depth of 60, and deeper ones on threads of its own.
 */
public final class EngineThread {
    private static final int DEPTH = 62;

    private EngineThread() {}

    /** Calls {@code backward} so that a backward pass in it runs its hooks on a thread of libtorch. */
    public static void run(Runnable backward) {
        AtomicInteger depth = new AtomicInteger();
        AtomicReference<Runnable> nested = new AtomicReference<>();
        nested.set(() -> {
            try (AutoGradMode _ = new AutoGradMode(true)) {
                if (depth.getAndIncrement() == DEPTH) {
                    backward.run();
                    return;
                }
                Tensor leaf = torch.ones(1).requires_grad_(true);
                try (LeafHooks _ = AutogradBridge.instance()
                        .watch(List.of(leaf), _ -> nested.get().run())) {
                    AutogradBridge.instance()
                            .backward(List.of(leaf.mul(new Scalar(2f)).sum()), List.of());
                }
            }
        });
        nested.get().run();
    }
}
