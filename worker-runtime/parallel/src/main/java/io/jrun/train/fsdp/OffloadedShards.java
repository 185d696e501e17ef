package io.jrun.train.fsdp;

import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The shards of one unit whose values and gradients are in memory only while they are read, used or written. Memory
 * whose transfer has failed is never freed, because the transfer may still use the memory. Confined to the training
 * thread.
 */
final class OffloadedShards {
    private final UnitOffload offload;
    private final List<Tensor> shards;
    private final PaddedMemory values;
    private final PaddedMemory gradients;
    /** The norm of each gradient; null before the first gradients. */
    private @Nullable Tensor norms;

    /** The factor by which the offload has multiplied the gradients since then. */
    private double normFactor = 1;

    private @Nullable ShardTransfer valuesRead;
    private @Nullable ShardTransfer gradientsRead;
    private @Nullable ShardTransfer gradientsWrite;

    private OffloadedShards(UnitOffload offload, List<Tensor> shards, PaddedMemory values, PaddedMemory gradients) {
        this.offload = offload;
        this.shards = shards;
        this.values = values;
        this.gradients = gradients;
    }

    /** Moves the values of {@code shards} to the offload. The memory of the gradients is free. */
    static OffloadedShards takeOver(
            UnitOffload offload, List<String> names, List<Tensor> shards, PaddedMemory gradients, UnitMemory memory) {
        PaddedMemory values = new PaddedMemory(
                shards.stream().map(TensorMemory::sizes).toList(),
                shards.getFirst().scalar_type().intern(),
                memory);
        values.allocate();
        values.clear();
        Map<String, Tensor> named = new LinkedHashMap<>();
        for (int i = 0; i < shards.size(); i++) {
            Tensor view = values.view(i, TensorMemory.sizes(shards.get(i)));
            view.copy_(shards.get(i).detach());
            shards.get(i).set_data(view);
            named.put(names.get(i), shards.get(i));
        }
        offload.takeOver(named, values.elements());
        values.free();
        return new OffloadedShards(offload, List.copyOf(shards), values, gradients);
    }

    /** Whether the values are being read for a later {@link #load}. */
    boolean isReading() {
        return valuesRead != null;
    }

    /** Begins to read the values, unless a read is under way. */
    void beginLoad() {
        if (valuesRead == null) {
            values.allocate();
            valuesRead = offload.readValues(values.elements());
        }
    }

    /** Returns when the values are in memory. */
    void load() {
        beginLoad();
        finishRead();
    }

    /** Frees the memory of the values. A read under way ends first. */
    void release() {
        finishRead();
        values.free();
    }

    private void finishRead() {
        if (valuesRead != null) {
            valuesRead.await();
            valuesRead = null;
        }
    }

    /** The number of the values, see {@link ShardOffload#version}. */
    long version() {
        return offload.version();
    }

    /** Whether gradients wait for a step of the optimizer. */
    boolean hasGradients() {
        return offload.hasGradients();
    }

    /** Drops the gradients that wait for a step of the optimizer. */
    void dropGradients() {
        offload.dropGradients();
    }

    /** Begins to read the gradients of earlier passes, if there are any. A pass reduces a unit once. */
    void beginLoadGradients() {
        if (offload.hasGradients()) {
            gradients.allocate();
            gradientsRead = offload.readGradients(gradients.elements());
        }
    }

    /** Returns when the shards have gradients in memory: the gradients of earlier passes, or zeros. */
    void loadGradients() {
        if (gradientsRead == null) {
            gradients.allocate();
            gradients.clear();
        } else {
            gradientsRead.await();
            gradientsRead = null;
        }
        for (int i = 0; i < shards.size(); i++) {
            shards.get(i).mutable_grad().put(gradients.view(i, TensorMemory.sizes(shards.get(i))));
        }
    }

    /**
     * The norms of the gradients of all shards that wait for a step of the optimizer; 0 without a gradient. Waits for the
     * device.
     */
    double[] gradientNorms() {
        if (norms == null || !offload.hasGradients()) {
            return new double[shards.size()];
        }
        double[] numbers = DeviceWaits.numbers(List.of(norms));
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] *= normFactor;
        }
        return numbers;
    }

    /** Notes that the offload multiplies the gradients. */
    void scaleNorms(double factor) {
        normFactor *= factor;
    }

    /** Begins to write the gradients. */
    void beginStoreGradients() {
        if (norms != null) {
            norms.close();
        }
        norms = normsOf(shards);
        normFactor = 1;
        gradientsWrite = offload.writeGradients(gradients.elements());
        shards.forEach(shard -> shard.mutable_grad().reset());
    }

    /** The norms of the gradients as numbers on their device. */
    private static Tensor normsOf(List<Tensor> shards) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor[] norms = shards.stream()
                    .map(shard -> torch.linalg_vector_norm(shard.mutable_grad().to(torch.ScalarType.Double)))
                    .toArray(Tensor[]::new);
            return TensorMemory.own(torch.stack(new TensorVector(norms)));
        }
    }

    /** Returns when the gradients are written and their memory is free. */
    void finishStore() {
        if (gradientsWrite != null) {
            gradientsWrite.await();
            gradientsWrite = null;
            gradients.free();
        }
    }
}
