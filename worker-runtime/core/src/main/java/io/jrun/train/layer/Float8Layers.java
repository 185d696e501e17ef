package io.jrun.train.layer;

import io.jrun.train.precision.Float8Linear;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;

/**
 * Linear layers with operands of 8 bits, see {@link Float8Linear}. Each layer has scales of its own. Confined to the
 * training thread.
 */
public final class Float8Layers implements LinearOperation, AutoCloseable {
    private static final String PREFIX = "float8.";

    private final Map<String, Float8Linear> products = new HashMap<>();
    private final IdentityHashMap<LinearLayer, Float8Linear> productsOfLayers = new IdentityHashMap<>();

    /**
     * Replaces the computation of linear layers. The matrix of a tied embedding keeps its type.
     *
     * @param layers all linear layers of a model, by their names in the saved state
     */
    public Float8Layers(Map<String, LinearLayer> layers) {
        layers.forEach((name, layer) -> {
            Float8Linear product = new Float8Linear();
            products.put(PREFIX + name, product);
            productsOfLayers.put(layer, product);
            layer.setOperation(this);
        });
    }

    /** Whether a tensor of a saved state belongs to these layers. */
    public static boolean owns(String name) {
        return name.startsWith(PREFIX);
    }

    @Override
    public List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers) {
        return layers.stream().map((LinearLayer layer) -> apply(x, layer)).toList();
    }

    private Tensor apply(Tensor x, LinearLayer layer) {
        Tensor product = Objects.requireNonNull(productsOfLayers.get(layer)).apply(x, layer.matrix());
        Tensor bias = layer.bias();
        return bias == null ? product : product.add(bias);
    }

    /** The scales of this rank. The caller frees the tensors. */
    public Map<String, Tensor> state() {
        Map<String, Tensor> state = new HashMap<>();
        products.forEach((name, product) -> state.put(name, product.state()));
        return state;
    }

    /** Loads the scales of a saved state. A layer without saved scales begins with new scales. */
    public void load(Map<String, Tensor> state) {
        products.forEach((name, product) -> {
            Tensor saved = state.get(name);
            if (saved != null) {
                product.load(saved);
            }
        });
    }

    /** Frees the scales. The layers must not be used afterwards. */
    @Override
    public void close() {
        products.values().forEach(Float8Linear::close);
    }
}
