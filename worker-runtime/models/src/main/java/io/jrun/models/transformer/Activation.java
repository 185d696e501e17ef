package io.jrun.models.transformer;

import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The activation of a feed-forward layer, with its names in Hugging Face's {@code activations.py}. */
public enum Activation {
    /** {@code x * Phi(x)} (Hendrycks and Gimpel 2016). */
    GELU("gelu", "gelu_python") {
        @Override
        public Tensor of(Tensor x) {
            return torch.gelu(x);
        }
    },
    /** GELU by a hyperbolic tangent. The five names are one formula. */
    GELU_TANH("gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate") {
        @Override
        public Tensor of(Tensor x) {
            return torch.gelu(x, "tanh");
        }
    },
    /** {@code x * sigmoid(1.702 x)}. */
    QUICK_GELU("quick_gelu") {
        @Override
        public Tensor of(Tensor x) {
            return torch.sigmoid(x.mul(new Scalar(1.702))).mul(x);
        }
    },
    /** {@code max(x, 0)}. */
    RELU("relu") {
        @Override
        public Tensor of(Tensor x) {
            return torch.relu(x);
        }
    },
    /** {@code max(x, 0)^2}. */
    RELU_SQUARED("relu2") {
        @Override
        public Tensor of(Tensor x) {
            return torch.relu(x).square();
        }
    },
    /** {@code x * sigmoid(x)}. */
    SILU("silu", "swish") {
        @Override
        public Tensor of(Tensor x) {
            return torch.silu(x);
        }
    },
    /** The hyperbolic tangent. */
    TANH("tanh") {
        @Override
        public Tensor of(Tensor x) {
            return torch.tanh(x);
        }
    };

    @SuppressWarnings("ImmutableEnumChecker") // List.of makes an immutable list
    private final List<String> names;

    Activation(String... names) {
        this.names = List.of(names);
    }

    /** The activation of each element. */
    public abstract Tensor of(Tensor x);

    /** The name in a configuration. */
    public String configName() {
        return names.getFirst();
    }

    /**
     * The activation with a name.
     *
     * @param key the field of config.json that has the name
     * @throws IllegalArgumentException if jrun lacks the activation; the message lists the names that jrun has
     */
    public static Activation named(String key, String name) {
        return Arrays.stream(values())
                .filter(activation -> activation.names.contains(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("config.json: '" + key + "' is '" + name
                        + "'; jrun supports "
                        + String.join(
                                ", ",
                                Arrays.stream(values())
                                        .flatMap(activation -> activation.names.stream())
                                        .toList())));
    }
}
