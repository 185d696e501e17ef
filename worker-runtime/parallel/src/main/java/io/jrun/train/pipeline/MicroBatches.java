package io.jrun.train.pipeline;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** The parts of a batch. */
public final class MicroBatches {
    private MicroBatches() {}

    /**
     * Cuts a batch along its first dimension, without a copy. The parts belong to the innermost {@code PointerScope}.
     *
     * @throws PipelineException if the batch does not divide: the parts would have different shapes
     */
    public static List<Tensor> split(Tensor batch, int count) {
        long size = batch.size(0);
        if (size % count != 0) {
            throw new PipelineException("a batch of " + size + " samples does not divide into " + count
                    + " micro-batches of equal size: all micro-batches need one shape, and with unequal sizes the"
                    + " mean of their losses would not be the mean of the samples. Use a multiple of " + count
                    + ", or drop the rest.");
        }
        List<Tensor> parts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            parts.add(batch.narrow(0, i * (size / count), size / count));
        }
        return parts;
    }

    static void requireEven(List<Tensor> inputs, List<Tensor> targets) {
        if (inputs.isEmpty() || targets.size() != inputs.size()) {
            throw new PipelineException("a step needs as many targets as inputs, and at least one, not " + inputs.size()
                    + " inputs and " + targets.size() + " targets");
        }
        requireEven("input", inputs);
        requireEven("target", targets);
    }

    private static void requireEven(String kind, List<Tensor> parts) {
        String first = TensorMemory.form(parts.getFirst());
        for (int i = 1; i < parts.size(); i++) {
            String form = TensorMemory.form(parts.get(i));
            if (!form.equals(first)) {
                throw new PipelineException(
                        "the " + kind + " of micro-batch " + i + " is " + form + ", that of micro-batch 0 "
                                + first
                                + ": all micro-batches need one shape, because the mean of the losses gives each"
                                + " micro-batch the same weight. Drop or pad the rest of the batch.");
            }
        }
    }
}
