package io.jrun.train.layer;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** One row of a matrix for each number. */
public final class TokenEmbedding extends Module {
    private final long count;
    private final Tensor weight;
    private final ZeroWeightCheck values;
    private EmbeddingOperation operation = EmbeddingOperation.LOCAL;

    /** An embedding of zeros [count, width] on the CPU. */
    public TokenEmbedding(long count, long width) {
        this(count, width, Device.CPU);
    }

    /** An embedding of zeros [count, width] on a device. */
    public TokenEmbedding(long count, long width, Device device) {
        this.count = count;
        weight = TensorMemory.own(register_parameter("weight", DeviceTensors.zeros(device, count, width)));
        values = new ZeroWeightCheck("TokenEmbedding", weight);
    }

    /**
     * The rows of numbers of type Long.
     *
     * @throws IllegalStateException if the rows were not set
     */
    public Tensor forward(Tensor numbers) {
        values.require();
        return operation.rows(weight, numbers);
    }

    /** Logits: the product of each vector with each row. A tied output layer. */
    public Tensor logits(Tensor vectors) {
        return operation.logits(weight, vectors);
    }

    /** Replaces the computation. */
    public void setOperation(EmbeddingOperation newOperation) {
        operation = newOperation;
    }

    /** The number of rows of the whole matrix. */
    public long count() {
        return count;
    }

    /** The matrix; some of its rows if the layer is parallel. */
    public Tensor weight() {
        return weight;
    }
}
