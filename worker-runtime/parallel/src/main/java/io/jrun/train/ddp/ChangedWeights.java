package io.jrun.train.ddp;

import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.EmbeddingBagImpl;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringSharedModuleDict;
import org.bytedeco.pytorch.StringSharedModuleDictItem;

/** Finds layers of libtorch whose forward pass changes their weight in place. */
final class ChangedWeights {
    private ChangedWeights() {}

    /**
     * Each rank would change the rows of its own samples, and the copies of the weight would differ.
     *
     * @param ignored the names of parameters that are not copied
     * @throws IllegalArgumentException if an embedding has a {@code max_norm}; the message names its weight
     */
    static void refuse(Module model, Set<String> ignored) {
        try (PointerScope _ = new PointerScope()) {
            StringSharedModuleDict modules = model.named_modules("", false);
            refuse("weight", model, ignored);
            for (long i = 0; i < modules.size(); i++) {
                StringSharedModuleDictItem item = modules.get(i);
                refuse(item.key().getString() + ".weight", item.value(), ignored);
            }
        }
    }

    private static void refuse(String weight, Module layer, Set<String> ignored) {
        if (hasMaxNorm(layer) && !ignored.contains(weight)) {
            throw new IllegalArgumentException("the embedding of parameter '" + weight + "' has a max_norm: its forward"
                    + " pass changes the rows of this rank's samples in place, so the ranks' copies would differ. Make"
                    + " the embedding without max_norm, and limit the rows after the optimizer's step on all ranks.");
        }
    }

    private static boolean hasMaxNorm(Module layer) {
        EmbeddingImpl embedding = layer.asEmbedding();
        EmbeddingBagImpl bag = layer.asEmbeddingBag();
        return (embedding != null && embedding.options().max_norm().has_value())
                || (bag != null && bag.options().max_norm().has_value());
    }
}
