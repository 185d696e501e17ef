package io.jrun.train.fsdp;

import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;

/**
 * The offload of one unit. Each transfer becomes a span when the training thread has waited for its end.
 *
 * @param unit the name of the unit
 */
record UnitOffload(ShardOffload offload, int number, String unit, Consumer<CommunicationSpan> spans) {
    void takeOver(Map<String, Tensor> shards, Tensor values) {
        offload.takeOver(number, unit, shards, values);
    }

    ShardTransfer readValues(Tensor into) {
        long launched = System.nanoTime();
        return measured(CommunicationSpan.Kind.READ, into, launched, offload.readValues(number, into));
    }

    ShardTransfer readGradients(Tensor into) {
        long launched = System.nanoTime();
        return measured(CommunicationSpan.Kind.READ, into, launched, offload.readGradients(number, into));
    }

    ShardTransfer writeGradients(Tensor from) {
        long launched = System.nanoTime();
        return measured(CommunicationSpan.Kind.WRITE, from, launched, offload.writeGradients(number, from));
    }

    private ShardTransfer measured(CommunicationSpan.Kind kind, Tensor memory, long launched, ShardTransfer transfer) {
        return () -> {
            long begin = System.nanoTime();
            long ended = transfer.await();
            spans.accept(
                    new CommunicationSpan(unit, kind, memory.nbytes(), launched, ended, System.nanoTime() - begin));
            return ended;
        };
    }

    long version() {
        return offload.version();
    }

    boolean hasGradients() {
        return offload.hasGradients(number);
    }

    void dropGradients() {
        offload.dropGradients(number);
    }
}
