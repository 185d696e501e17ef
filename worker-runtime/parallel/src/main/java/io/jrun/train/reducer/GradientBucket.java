package io.jrun.train.reducer;

import io.jrun.comm.Buffer;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradients of one element type that are reduced together: the input of a {@link CommunicationHook}. torch's
 * {@code GradBucket}. Valid until the reduction ends.
 *
 * @param index 0 for the bucket that is ready first
 * @param isLast whether no further bucket follows in this pass
 * @param buffer all gradients in order; zeros after each gradient pad the gradient to a multiple of 64 bytes
 * @param flat the same memory as a tensor of one dimension
 * @param names of the parameters, in the order of their gradients
 * @param parameters the parameters themselves
 * @param gradients of the shapes of the parameters, in the memory of {@code flat}
 * @param divisor the number by which the sum over ranks must be divided: the number of all ranks of the model, or inside
 *     a join of those that have inputs
 */
public record GradientBucket(
        int index,
        boolean isLast,
        Buffer buffer,
        Tensor flat,
        List<String> names,
        List<Tensor> parameters,
        List<Tensor> gradients,
        int divisor) {
    static GradientBucket of(
            int index,
            boolean isLast,
            Buffer buffer,
            Tensor flat,
            List<Parameter> members,
            List<Tensor> gradients,
            int divisor) {
        return new GradientBucket(
                index,
                isLast,
                buffer,
                flat,
                members.stream().map(Parameter::name).toList(),
                members.stream().map(Parameter::tensor).toList(),
                gradients,
                divisor);
    }

    public GradientBucket {
        names = List.copyOf(names);
        parameters = List.copyOf(parameters);
        gradients = List.copyOf(gradients);
    }

    /**
     * The place of each gradient in {@link #flat}, in elements. The padding makes the places equal on all ranks.
     */
    public List<Long> offsets() {
        long first = TensorMemory.address(flat);
        return gradients.stream()
                .map(gradient -> (TensorMemory.address(gradient) - first) / gradient.element_size())
                .toList();
    }
}
