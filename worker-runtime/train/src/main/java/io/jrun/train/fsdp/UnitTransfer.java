package io.jrun.train.fsdp;

import io.jrun.comm.Work;
import io.jrun.train.tensor.TensorMemory;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** A collective under way, with the buffers that it holds. Confined to the training thread. */
final class UnitTransfer {
    private final String unit;
    private final CommunicationSpan.Kind kind;
    private final Tensor input;
    private final Tensor output;
    private final Work work;
    private final Consumer<CommunicationSpan> spans;
    private final long launchedNanos = System.nanoTime();
    private volatile long endedNanos;

    /** Begins {@code operation} from {@code input} to {@code output}, which the transfer takes over. */
    UnitTransfer(
            String unit,
            CommunicationSpan.Kind kind,
            Tensor input,
            Tensor output,
            Operation operation,
            Consumer<CommunicationSpan> spans) {
        this.unit = unit;
        this.kind = kind;
        this.spans = spans;
        // A scope of its own: references that the program's scope holds would keep the buffers until the end of the
        // step.
        try (PointerScope _ = new PointerScope()) {
            this.input = TensorMemory.own(input);
            this.output = TensorMemory.own(output);
            this.work = operation.start(this.input, this.output);
        }
        var _ = work.future().whenComplete((_, _) -> endedNanos = System.nanoTime());
    }

    /** Starts a collective. */
    @FunctionalInterface
    interface Operation {
        Work start(Tensor input, Tensor output);
    }

    /** Waits for the end and returns the output. The caller calls {@link #free} when it has read the output. */
    Tensor await() {
        long begin = System.nanoTime();
        work.await();
        long now = System.nanoTime();
        long ended = endedNanos == 0 ? now : endedNanos;
        spans.accept(new CommunicationSpan(
                unit, kind, Math.max(input.nbytes(), output.nbytes()), launchedNanos, ended, now - begin));
        return output;
    }

    void free() {
        input.close();
        output.close();
    }
}
