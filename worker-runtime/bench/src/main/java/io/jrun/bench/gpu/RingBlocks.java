package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.context.ContextParallel.Exchange;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.AttentionOperation;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention by a ring with operands of 16 bits, compared with attention of the same operands in float32 on the CPU: the
 * output, and the gradients of queries, keys and values. There are two query heads for each key head.
 */
final class RingBlocks {
    private static final long BATCH = 2;
    private static final long HEADS = 4;
    private static final long KEY_HEADS = 2;
    private static final long HEAD_SIZE = 64;

    /** Positions of each rank: no multiple of a kernel's block. */
    private static final long LOCAL = 152;

    /**
     * The norm of the error, by the norm of the tensor. The largest rounding is the one of bfloat16, 2^-9 of a number;
     * probabilities, outputs and gradients are rounded. A wrong mask or a wrong logarithm is an error of 0.1 and more.
     */
    private static final double TOLERANCE = 0.02;

    private RingBlocks() {}

    /** Compares causal and full attention of bfloat16 and float16. Collective over the group. */
    static String compareWithCpu(ProcessGroup group, Device device) {
        double largest = 0;
        for (torch.ScalarType type : List.of(torch.ScalarType.BFloat16, torch.ScalarType.Half)) {
            for (boolean isCausal : new boolean[] {true, false}) {
                largest = Math.max(largest, error(group, device, type, isCausal));
            }
        }
        return String.format(Locale.ROOT, "attention of 16 bits: relative error %.1e against float32", largest);
    }

    private static double error(ProcessGroup group, Device device, torch.ScalarType type, boolean isCausal) {
        try (PointerScope _ = new PointerScope()) {
            long length = LOCAL * group.size();
            List<Tensor> whole = List.of(
                    random(type, HEADS, length, 1),
                    random(type, KEY_HEADS, length, 2),
                    random(type, KEY_HEADS, length, 3));
            Tensor direction = random(type, HEADS, length, 4);
            List<Tensor> expected = alone(whole, direction, isCausal);

            CompositeModule model = new CompositeModule();
            AttentionLayer layer = model.add("attention", new AttentionLayer(HEAD_SIZE));
            MeshAxis axis = new MeshAxis("cp", group);
            ContextParallel context = ContextParallel.apply(model, axis, axis, Exchange.RING);
            Tensor mine = Tensor.create(context.split().positions(length, group.groupRank()));
            List<Tensor> found = shared(layer, on(device, whole, mine), on(device, List.of(direction), mine), isCausal);
            double largest = 0;
            for (int i = 0; i < found.size(); i++) {
                Tensor wanted = expected.get(i).index_select(2, mine);
                Tensor wide = found.get(i).cpu().to(torch.ScalarType.Float);
                double error =
                        wide.sub(wanted).norm().item_double() / wanted.norm().item_double();
                GpuCheck.require(
                        error < TOLERANCE,
                        (isCausal ? "causal" : "full") + " attention of " + type + ": result " + i
                                + " differs from float32 by a relative error of " + error);
                largest = Math.max(largest, error);
            }
            return largest;
        }
    }

    /** Equal numbers on all ranks. */
    private static Tensor random(torch.ScalarType type, long heads, long length, long seed) {
        Generator generator = torch.createCPUGenerator(seed);
        return torch.zeros(BATCH, heads, length, HEAD_SIZE)
                .normal_(0, 1, new GeneratorOptional(generator))
                .to(type);
    }

    private static List<Tensor> on(Device device, List<Tensor> whole, Tensor positions) {
        org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString());
        return whole.stream()
                .map(tensor -> tensor.index_select(2, positions)
                        .to(place, tensor.scalar_type().intern()))
                .toList();
    }

    /** The output of whole sequences in float32 and the gradients, on the CPU. */
    private static List<Tensor> alone(List<Tensor> operands, Tensor direction, boolean isCausal) {
        List<Tensor> leaves = operands.stream()
                .map(tensor -> tensor.to(torch.ScalarType.Float).set_requires_grad(true))
                .toList();
        Tensor output = AttentionOperation.LOCAL.apply(leaves.get(0), leaves.get(1), leaves.get(2), isCausal);
        return withGradients(output, direction.to(torch.ScalarType.Float), leaves);
    }

    private static List<Tensor> shared(
            AttentionLayer layer, List<Tensor> operands, List<Tensor> direction, boolean isCausal) {
        List<Tensor> leaves = operands.stream()
                .map(tensor -> tensor.detach().set_requires_grad(true))
                .toList();
        Tensor output = layer.split(layer.attend(leaves.get(0), leaves.get(1), leaves.get(2), isCausal));
        return withGradients(output, direction.getFirst(), leaves);
    }

    private static List<Tensor> withGradients(Tensor output, Tensor direction, List<Tensor> leaves) {
        AutogradBridge.instance().backward(List.of(output.mul(direction).sum()), List.of());
        List<Tensor> results = new ArrayList<>(List.of(output.detach()));
        leaves.forEach(leaf -> results.add(leaf.grad()));
        return results;
    }
}
