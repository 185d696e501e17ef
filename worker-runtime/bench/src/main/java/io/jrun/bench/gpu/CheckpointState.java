package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The float32 parameters of a model and the two states that AdamW has for each, on one device. */
final class CheckpointState implements AutoCloseable {
    private static final List<String> KINDS = List.of("model.", "optimizer.exp_avg.", "optimizer.exp_avg_sq.");
    private static final int LAYERS = 11;
    private static final long WIDTH = 2048;

    private final Map<String, Tensor> tensors = new LinkedHashMap<>();

    /** A state of zeros of about this many bytes. */
    CheckpointState(Device device, long bytes) {
        long rows = Math.max(1, bytes / KINDS.size() / LAYERS / WIDTH / Float.BYTES);
        for (String kind : KINDS) {
            for (int layer = 0; layer < LAYERS; layer++) {
                tensors.put(
                        kind + "layers." + layer + ".weight",
                        TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, rows, WIDTH)));
            }
        }
    }

    /** Gives all elements random values. */
    void fill() {
        try (GeneratorOptional generator = new GeneratorOptional()) {
            tensors.values().forEach(tensor -> tensor.normal_(0, 1, generator));
        }
    }

    StateDict dictionary() {
        return new StateDict().putAll("", tensors);
    }

    List<Tensor> tensors() {
        return List.copyOf(tensors.values());
    }

    long bytes() {
        return tensors.values().stream().mapToLong(Tensor::nbytes).sum();
    }

    /** Throws if an element differs from that of {@code other}. */
    void requireEqual(CheckpointState other) {
        tensors.forEach((name, tensor) -> GpuCheck.require(
                tensor.equal(Objects.requireNonNull(other.tensors.get(name))), name + " differs after the load"));
    }

    @Override
    public void close() {
        tensors.values().forEach(Tensor::close);
    }
}
