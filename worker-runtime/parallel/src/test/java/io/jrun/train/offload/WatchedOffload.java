package io.jrun.train.offload;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.fsdp.ShardOffload;
import io.jrun.train.fsdp.ShardTransfer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.bytedeco.pytorch.Tensor;

/** Passes all calls on to an optimizer, and watches which transfers are under way. Confined to the training thread. */
final class WatchedOffload implements ShardOffload {
    private final OffloadedOptimizer optimizer;
    private final Map<String, Integer> numbers = new TreeMap<>();
    private final Map<Integer, List<Watched>> reads = new TreeMap<>();
    private final Map<Integer, List<Watched>> writes = new TreeMap<>();

    WatchedOffload(OffloadedOptimizer optimizer) {
        this.optimizer = optimizer;
    }

    /** A transfer, and whether the training has waited for its end. */
    private record Watched(ShardTransfer transfer, AtomicBoolean isUsed) {
        Watched(ShardTransfer transfer) {
            this(transfer, new AtomicBoolean());
        }

        ShardTransfer asUsed() {
            return () -> {
                isUsed.set(true);
                return transfer.await();
            };
        }

        boolean isUnused() {
            return !isUsed.get();
        }
    }

    /** Fails unless read {@code which} of a unit's parameters is under way. Returns when the read has ended. */
    void assertReadAhead(String unit, int which) {
        List<Watched> all = reads.getOrDefault(numbers.get(unit), List.of());
        assertThat(all).as("reads of %s", unit).hasSize(which + 1);
        assertThat(all.getLast().isUnused())
                .as("%s is read before it is gathered", unit)
                .isTrue();
        assertThat(all.getLast().transfer().await()).isLessThan(System.nanoTime());
    }

    @Override
    public void takeOver(int unit, String name, Map<String, Tensor> shards, Tensor values) {
        numbers.put(name, unit);
        optimizer.takeOver(unit, name, shards, values);
    }

    @Override
    public ShardTransfer readValues(int unit, Tensor into) {
        assertThat(unused(reads))
                .as("reads under way: with this one the memory of two units")
                .hasSizeLessThan(2);
        return add(reads, unit, optimizer.readValues(unit, into));
    }

    @Override
    public ShardTransfer readGradients(int unit, Tensor into) {
        assertThat(writes.getOrDefault(unit, List.of()))
                .as("writes of the gradients that are read")
                .isNotEmpty()
                .noneMatch(Watched::isUnused);
        return optimizer.readGradients(unit, into);
    }

    @Override
    public ShardTransfer writeGradients(int unit, Tensor from) {
        assertThat(unused(writes))
                .as("writes under way: with this one the memory of two units")
                .hasSizeLessThan(2);
        return add(writes, unit, optimizer.writeGradients(unit, from));
    }

    private static List<Watched> unused(Map<Integer, List<Watched>> transfers) {
        return transfers.values().stream()
                .flatMap(List::stream)
                .filter(Watched::isUnused)
                .toList();
    }

    private static ShardTransfer add(Map<Integer, List<Watched>> transfers, int unit, ShardTransfer transfer) {
        Watched watched = new Watched(transfer);
        transfers.computeIfAbsent(unit, _ -> new ArrayList<>()).add(watched);
        return watched.asUsed();
    }

    @Override
    public void scaleGradients(double factor) {
        optimizer.scaleGradients(factor);
    }

    @Override
    public boolean hasGradients(int unit) {
        return optimizer.hasGradients(unit);
    }

    @Override
    public long version() {
        return optimizer.version();
    }

    @Override
    public void dropGradients(int unit) {
        optimizer.dropGradients(unit);
    }
}
