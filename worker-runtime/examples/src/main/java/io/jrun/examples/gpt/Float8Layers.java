package io.jrun.examples.gpt;

import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.precision.Float8Linear;
import java.util.IdentityHashMap;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Linear layers with operands of 8 bits. Each layer has scales of its own. */
final class Float8Layers implements LinearOperation {
    private final IdentityHashMap<LinearLayer, Float8Linear> products = new IdentityHashMap<>();

    private Float8Layers() {}

    /** Replaces the computation of all linear layers. The matrix of a tied embedding keeps its type. */
    static void replaceIn(LanguageModel model) {
        Float8Layers operation = new Float8Layers();
        model.descendants(LinearLayer.class).values().forEach(layer -> layer.setOperation(operation));
    }

    @Override
    public List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers) {
        return layers.stream().map((LinearLayer layer) -> apply(x, layer)).toList();
    }

    private Tensor apply(Tensor x, LinearLayer layer) {
        Tensor product =
                products.computeIfAbsent(layer, _ -> new Float8Linear()).apply(x, layer.matrix());
        Tensor bias = layer.bias();
        return bias == null ? product : product.add(bias);
    }
}
