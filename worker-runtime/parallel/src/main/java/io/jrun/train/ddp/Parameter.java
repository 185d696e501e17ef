package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** One trained parameter. */
record Parameter(String name, Tensor tensor, DataType type, long elements) {

    long bytes() {
        return elements * type.sizeBytes();
    }

    /** The tensors of {@code named} that require a gradient. */
    static List<Parameter> trained(Map<String, Tensor> named) {
        List<Parameter> trained = new ArrayList<>();
        named.forEach((name, tensor) -> {
            if (tensor.requires_grad()) {
                trained.add(of(name, tensor));
            }
        });
        if (trained.isEmpty()) {
            throw new DdpException("the model has no parameter that requires a gradient; DDP has no gradient to reduce."
                    + " Register parameters with register_parameter or register_module.");
        }
        return trained;
    }

    private static Parameter of(String name, Tensor tensor) {
        DataType type = TensorTypes.of(tensor)
                .filter(DataType::isFloat)
                .orElseThrow(() -> new DdpException("parameter '" + name + "' has element type "
                        + tensor.scalar_type().intern()
                        + "; gradients can be reduced as Float, Double, BFloat16 or Half. Convert the module with"
                        + " to(...)."));
        if (!tensor.is_contiguous()) {
            throw new DdpException("parameter '" + name + "' of shape " + TensorMemory.shape(tensor)
                    + " is not contiguous. Register tensor.contiguous() instead.");
        }
        return new Parameter(name, tensor, type, tensor.numel());
    }
}
