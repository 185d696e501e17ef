package io.jrun.train.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Calls of Java functions leave no object and no memory, whatever becomes of them. */
class AutogradMemoryTest {
    private static final int ROUNDS = 6;
    private static final int CALLS = 1_500; // of a round
    private static final int SAVED_FLOATS = 1 << 10;
    /** A node has more than 500 bytes, so one node left by each call makes 750 kB in each round. */
    private static final long LIMIT_BYTES = CALLS * 250;

    /** Native objects that classes make once. */
    private static final int CLASS_CONSTANTS = 10;

    private final AutogradBridge bridge = bridge();

    private static AutogradBridge bridge() {
        Libtorch.setThreads(1);
        return AutogradBridge.instance();
    }

    private static final class Exp implements AutogradFunction {
        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            Tensor out = inputs.getFirst().exp();
            context.save(out);
            return List.of(out);
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            if (gradients.getFirst().numel() == 1) {
                throw new IllegalStateException("fails");
            }
            return List.of(gradients.getFirst().mul(context.saved(0)));
        }
    }

    @Test
    void callsLeaveNothing() throws InterruptedException {
        try (Tensor x = torch.zeros(SAVED_FLOATS).requires_grad_(true);
                Tensor one = torch.zeros(1).requires_grad_(true)) {
            long objects = Pointer.totalCount();
            assertThat(LiveMemory.leastGrowth(ROUNDS, () -> run(CALLS, x, one))).isLessThan(LIMIT_BYTES);
            assertThat(LiveCalls.count()).isZero();
            assertThat(ownsAtMost(objects + CLASS_CONSTANTS)).isTrue();
        }
    }

    /** A hook's native owner, of 8 bytes, goes only when the collector has taken the Java half of the hook. */
    private static boolean ownsAtMost(long objects) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (Pointer.totalCount() > objects && System.nanoTime() < end) {
            System.gc();
            TimeUnit.MILLISECONDS.sleep(10);
        }
        return Pointer.totalCount() <= objects;
    }

    private void run(int calls, Tensor x, Tensor one) {
        AutogradFunction exp = new Exp();
        for (int i = 0; i < calls; i++) {
            try (PointerScope _ = new PointerScope()) {
                Tensor out = bridge.apply(exp, List.of(x)).getFirst();
                switch (i % 16) {
                    case 0 -> {
                        Tensor fails = bridge.apply(exp, List.of(one)).getFirst();
                        assertThatThrownBy(() -> bridge.backward(List.of(fails), List.of()))
                                .isInstanceOf(IllegalStateException.class);
                    }
                    case 1, 2, 3, 4 -> assertThat(out.requires_grad()).isTrue(); // and no backward pass
                    default -> bridge.backward(List.of(out), List.of(x.detach()));
                }
            }
        }
    }
}
