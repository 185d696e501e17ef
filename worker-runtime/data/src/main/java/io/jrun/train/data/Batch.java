package io.jrun.train.data;

import io.jrun.train.device.DeviceCopies;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of one forward pass, of any shapes and types. Their first dimension is the number of samples.
 *
 * @param inputs what the model gets
 * @param targets what the loss compares the outputs with
 */
public record Batch(Tensor inputs, Tensor targets) {
    /** The batch on the device of the copies. A batch that stays on the CPU is this batch. */
    public Batch copied(DeviceCopies copies) {
        List<Tensor> tensors = copies.copy(List.of(inputs, targets));
        return new Batch(tensors.get(0), tensors.get(1));
    }
}
