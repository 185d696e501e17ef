package io.jrun.train.expert;

import io.jrun.comm.Device;
import io.jrun.train.layer.ZeroWeightCheck;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** One linear map for each expert. The parameters are zero until they are set. */
final class ExpertLinear extends Module {
    private final Tensor weight;
    private final ZeroWeightCheck values;
    private final @Nullable Tensor bias;

    /** Maps with weights [E, outputs, inputs] and biases [E, outputs]. */
    ExpertLinear(long experts, long inputs, long outputs, boolean hasBias, Device device) {
        weight = TensorMemory.own(register_parameter("weight", DeviceTensors.zeros(device, experts, outputs, inputs)));
        values = new ZeroWeightCheck("layer of experts", weight);
        bias = hasBias
                ? TensorMemory.own(register_parameter("bias", DeviceTensors.zeros(device, experts, outputs)))
                : null;
    }

    /** The map of the rows of each expert. An expert without rows takes part, so that its gradients are zeros. */
    List<Tensor> forward(List<Tensor> rows) {
        values.require();
        List<Tensor> weights = list(weight.unbind(0));
        List<Tensor> biases = bias == null ? List.of() : list(bias.unbind(0));
        List<Tensor> results = new ArrayList<>();
        for (int expert = 0; expert < rows.size(); expert++) {
            Tensor x = rows.get(expert);
            results.add(
                    bias == null
                            ? torch.linear(x, weights.get(expert))
                            : torch.linear(x, weights.get(expert), biases.get(expert)));
        }
        return results;
    }

    /** The tensors of a vector, which is freed. */
    static List<Tensor> list(TensorVector vector) {
        try (vector) {
            List<Tensor> tensors = new ArrayList<>();
            for (long i = 0; i < vector.size(); i++) {
                tensors.add(new Tensor(vector.get(i)));
            }
            return tensors;
        }
    }
}
