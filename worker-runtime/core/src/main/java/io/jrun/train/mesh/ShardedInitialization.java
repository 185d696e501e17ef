package io.jrun.train.mesh;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * First values that do not depend on the mesh. Each tensor has a generator of its own, seeded by the job's seed and the
 * name of the tensor. A rank draws the values of the whole tensor and keeps its part; for this time it has memory for
 * the whole tensor in float32. Megatron's {@code _initialize_affine_weight_cpu} does the same. Tensors of other types
 * get the float32 values in their type. The CPU draws the values of all devices, so a job on GPUs begins with the
 * parameters of the same job on CPUs.
 */
public final class ShardedInitialization {
    private ShardedInitialization() {}

    /** Fills the local part with values of a normal distribution. */
    public static void normal(ShardedTensor tensor, long seed, double mean, double deviation) {
        Tensor local = tensor.local();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            boolean isWhole = tensor.divided().isEmpty();
            if (isWhole && local.is_cpu() && local.scalar_type().intern() == torch.ScalarType.Float) {
                draw(local, tensor.name(), seed, mean, deviation);
                return;
            }
            Tensor part = DeviceTensors.zeros(
                    Device.CPU,
                    tensor.globalShape().stream().mapToLong(Long::longValue).toArray());
            draw(part, tensor.name(), seed, mean, deviation);
            for (AxisPlacement each : tensor.placements()) {
                if (each.placement() instanceof Shard shard) {
                    part = ShardedTensor.part(part, shard, each.axis());
                }
            }
            local.copy_(part);
        }
    }

    /** Fills a tensor of float32. A draw of another type gives other values. */
    private static void draw(Tensor values, String name, long seed, double mean, double deviation) {
        CRC32C hash = new CRC32C();
        hash.update(name.getBytes(StandardCharsets.UTF_8));
        Generator generator = torch.createCPUGenerator(seed * 0x9E3779B97F4A7C15L + hash.getValue());
        values.normal_(mean, deviation, new GeneratorOptional(generator));
    }
}
