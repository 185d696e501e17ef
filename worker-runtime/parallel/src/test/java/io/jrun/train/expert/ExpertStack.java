package io.jrun.train.expert;

import io.jrun.train.TinyGpt;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** A linear layer and two layers of experts, one of each kind. */
public final class ExpertStack extends CompositeModule implements BlockModel {
    static final int WIDTH = 6;

    private static final int INNER = 8;
    private static final int TOKENS = 12;

    private final LinearLayer first = add("first", new LinearLayer(WIDTH, WIDTH, true));
    private final ModelBlock gated;
    private final ModelBlock plain;

    public ExpertStack(ExpertOptions options, torch.ScalarType type, boolean isSkewed) {
        MixtureOfExperts gatedLayer =
                add("gated", new MixtureOfExperts(ExpertNetwork.Kind.SWIGLU, WIDTH, INNER, options));
        MixtureOfExperts plainLayer =
                add("plain", new MixtureOfExperts(ExpertNetwork.Kind.GELU, WIDTH, INNER, options));
        to(type, false);
        TinyGpt.fill(ModuleTensors.parameters(this), 3);
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(this).forEach((name, tensor) -> {
                if (name.contains("router") || name.endsWith("weight")) {
                    tensor.mul_(new Scalar(4.0));
                }
            });
            if (isSkewed) { // All tokens choose expert 0, because its logit is the largest for the equal tokens.
                first.weight().zero_();
                Objects.requireNonNull(first.bias()).fill_(new Scalar(1.0));
                Tensor router =
                        Objects.requireNonNull(ModuleTensors.parameters(this).get("gated.router.weight"));
                router.fill_(new Scalar(-1.0));
                router.select(0, 0).fill_(new Scalar(1.0));
            }
        }
        gated = new ModelBlock("gated", 0, gatedLayer, gatedLayer::forward);
        plain = new ModelBlock("plain", 1, plainLayer, plainLayer::forward);
    }

    /** The mean square error of a batch, which is a function of its number. */
    public Tensor loss(int batch) {
        Tensor numbers = torch.arange(new Scalar((long) TOKENS * WIDTH), new TensorOptions(torch.ScalarType.Double));
        Tensor x = numbers.mul(new Scalar(0.37 + 0.011 * batch))
                .sin()
                .mul(new Scalar(2.0))
                .view(2, TOKENS / 2, WIDTH)
                .to(first.weight().scalar_type());
        Tensor y = first.forward(x);
        y = y.add(gated.forward(y));
        y = y.add(plain.forward(y));
        return y.sub(x.flip(1)).square().mean();
    }

    @Override
    public List<ModelBlock> blocks() {
        return List.of(gated, plain);
    }

    MixtureOfExperts layer(String name) {
        return Objects.requireNonNull(descendants(MixtureOfExperts.class).get(name));
    }
}
