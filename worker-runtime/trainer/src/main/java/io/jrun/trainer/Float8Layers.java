package io.jrun.trainer;

import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.precision.Float8Linear;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;

/** Linear layers with operands of 8 bits. Each layer has scales of its own. */
final class Float8Layers implements LinearOperation {
    private static final String PREFIX = "float8.";

    private final Map<String, Float8Linear> products = new HashMap<>();
    private final IdentityHashMap<LinearLayer, Float8Linear> productsOfLayers = new IdentityHashMap<>();

    /** Replaces the computation of all linear layers. The matrix of a tied embedding keeps its type. */
    Float8Layers(TrainableModel model) {
        model.descendants(LinearLayer.class).forEach((name, layer) -> {
            Float8Linear product = new Float8Linear();
            products.put(PREFIX + name, product);
            productsOfLayers.put(layer, product);
            layer.setOperation(this);
        });
    }

    /** Whether a tensor of a saved state belongs to these layers. */
    static boolean owns(String name) {
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
    Map<String, Tensor> state() {
        Map<String, Tensor> state = new HashMap<>();
        products.forEach((name, product) -> state.put(name, product.state()));
        return state;
    }

    /** Loads the scales of a saved state. A layer without saved scales begins with new scales. */
    void load(Map<String, Tensor> state) {
        products.forEach((name, product) -> {
            Tensor saved = state.get(name);
            if (saved != null) {
                product.load(saved);
            }
        });
    }
}
