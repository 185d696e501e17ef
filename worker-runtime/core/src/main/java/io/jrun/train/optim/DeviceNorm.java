package io.jrun.train.optim;

import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** The norm of gradients on a device, by kernels over lists of tensors. No method waits. */
final class DeviceNorm {
    private static final AtenOperator NORMS = AtenOperator.of("aten::_foreach_norm", "Scalar");
    private static final AtenOperator MULTIPLY = AtenOperator.of("aten::_foreach_mul_", "Tensor");

    private DeviceNorm() {}

    static boolean isOnDevice(List<Tensor> gradients) {
        return !gradients.isEmpty()
                && !TensorMemory.device(gradients.getFirst()).isCpu();
    }

    /** The 2-norm of all gradients as one vector: a float64 tensor of one element. */
    static Tensor of(List<Tensor> gradients) {
        return torch.linalg_vector_norm(ofEach(gradients, false));
    }

    /**
     * The 2-norms of the gradients as a float64 tensor of one dimension.
     *
     * @param areParts whether the norms are computed in float64; else in the types of the gradients
     */
    static Tensor ofEach(List<Tensor> gradients, boolean areParts) {
        Map<torch.ScalarType, List<Integer>> types = byType(gradients);
        if (types.size() == 1) { // two kernels in place of one for each gradient
            return torch.stack(new TensorVector(norms(gradients, areParts).toArray(Tensor[]::new)))
                    .to(torch.ScalarType.Double);
        }
        Tensor[] norms = new Tensor[gradients.size()];
        types.values().forEach(places -> {
            List<Tensor> alike = norms(places.stream().map(gradients::get).toList(), areParts);
            for (int i = 0; i < alike.size(); i++) {
                norms[places.get(i)] = alike.get(i).to(torch.ScalarType.Double);
            }
        });
        return torch.stack(new TensorVector(norms));
    }

    private static List<Tensor> norms(List<Tensor> alike, boolean areParts) {
        return NORMS.tensors(
                AtenOperator.list(alike),
                AtenOperator.number(2),
                areParts ? AtenOperator.type(torch.ScalarType.Double) : AtenOperator.none());
    }

    /** Multiplies all gradients by {@code maximum / (norm + epsilon)}, if this factor is less than 1. */
    static void scale(List<Tensor> gradients, Tensor norm, double maximum, double epsilon) {
        Tensor factor = torch.full_like(norm, new Scalar(maximum))
                .div(norm.add(new Scalar(epsilon)))
                .clamp_max(new Scalar(1.0));
        byType(gradients).values().forEach(places -> {
            List<Tensor> alike = places.stream().map(gradients::get).toList();
            boolean isNarrow = alike.getFirst().element_size() < Float.BYTES;
            Tensor typed = isNarrow
                    ? factor.to(torch.ScalarType.Float)
                    : factor.to(alike.getFirst().scalar_type());
            MULTIPLY.call(AtenOperator.list(alike), AtenOperator.tensor(typed));
        });
    }

    /** The kernels work on tensors of one type: the places of the gradients of each type. */
    private static Map<torch.ScalarType, List<Integer>> byType(List<Tensor> gradients) {
        Map<torch.ScalarType, List<Integer>> places = new LinkedHashMap<>();
        for (int i = 0; i < gradients.size(); i++) {
            places.computeIfAbsent(gradients.get(i).scalar_type().intern(), _ -> new ArrayList<>())
                    .add(i);
        }
        return places;
    }
}
