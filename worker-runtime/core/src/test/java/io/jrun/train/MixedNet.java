package io.jrun.train;

import io.jrun.train.tensor.TensorMemory;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A chain of layers with parameters of four types, one of them frozen and one that a loss may leave out. The values
 * come from a generator of their own: torch's default one is shared by all ranks of a JVM.
 */
public final class MixedNet extends Module {
    public static final List<ScalarType> TYPES =
            List.of(ScalarType.Float, ScalarType.BFloat16, ScalarType.Double, ScalarType.Half);

    private static final int WIDTH = 8;
    private static final int BATCH = 2;
    private final Map<String, Tensor> weights = new LinkedHashMap<>();

    public MixedNet(long seed) {
        for (int i = 0; i < 2 * TYPES.size(); i++) {
            ScalarType type = TYPES.get(i % TYPES.size());
            add("layer" + i, random(seed + i, WIDTH, WIDTH).to(type));
            add("bias" + i, random(seed + 100 + i, 7).to(type));
        }
        add("optional", random(seed, 5).to(ScalarType.BFloat16));
        add("frozen", random(seed, 3).to(ScalarType.Half));
        weight("frozen").set_requires_grad(false);
        register_buffer("mean", random(seed, 3).to(ScalarType.BFloat16));
    }

    private void add(String name, Tensor value) {
        weights.put(name, TensorMemory.own(register_parameter(name, value)));
    }

    /** All parameters by name. */
    public Map<String, Tensor> weights() {
        return Collections.unmodifiableMap(weights);
    }

    /** A parameter. */
    public Tensor weight(String name) {
        return Objects.requireNonNull(weights.get(name));
    }

    /** The loss of one batch, a function of its number. */
    public Tensor loss(long batch, boolean withOptional) {
        Tensor x = random(batch, BATCH, WIDTH);
        for (int i = 0; i < 2 * TYPES.size(); i++) {
            Tensor layer = weight("layer" + i);
            x = torch.tanh(torch.matmul(x.to(layer.scalar_type()), layer).mul(new Scalar(0.2)));
            x = x.add(weight("bias" + i).sum().mul(new Scalar(0.01)));
        }
        Tensor loss = squares(x);
        return withOptional ? loss.add(squares(weight("optional"))) : loss;
    }

    private static Tensor squares(Tensor x) {
        return x.to(ScalarType.Float).pow(new Scalar(2)).sum();
    }

    private static Tensor random(long seed, long... sizes) {
        try (Generator generator = torch.createCPUGenerator(seed)) {
            return torch.randn(sizes, new GeneratorOptional(generator), new TensorOptions(ScalarType.Float));
        }
    }
}
