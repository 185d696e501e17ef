package io.jrun.train.module;

import io.jrun.train.tensor.ModuleTensors;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.pytorch.Module;

/** The layers of one model to which a parallelism was applied, by name. Confined to one thread at a time. */
public final class AppliedLayers {
    private final String parallelism;
    private final Map<String, Module> layers = new HashMap<>();

    /**
     * No layers.
     *
     * @param parallelism the name of the class, for messages
     */
    public AppliedLayers(String parallelism) {
        this.parallelism = parallelism;
    }

    /** Notes that the parallelism was applied to a layer. */
    public void add(String name, Module layer) {
        layers.put(name, layer);
    }

    /**
     * Checks that each layer with parameters has one name.
     *
     * @param others layers to which the parallelism will be applied
     * @throws IllegalArgumentException if two names are of the same module
     */
    public void requireDistinct(Map<String, ? extends Module> others) {
        Map<Module, String> names = new HashMap<>();
        layers.forEach((name, layer) -> names.put(layer, name));
        others.forEach((name, layer) -> {
            String same = names.putIfAbsent(layer, name);
            if (same != null
                    && !same.equals(name)
                    && !ModuleTensors.parameters(layer).isEmpty()) {
                throw new IllegalArgumentException("layer '" + name + "' is the same module as layer '" + same + "'. "
                        + parallelism + " needs a module of its own for each layer.");
            }
        });
    }

    /**
     * Whether the parallelism was applied to a layer.
     *
     * @throws IllegalArgumentException if the layer of this name was another one
     */
    public boolean contains(String name, Module layer) {
        Module before = layers.get(name);
        if (before != null && !before.equals(layer)) {
            throw new IllegalArgumentException("layer '" + name
                    + "' belongs to a second model. Each model needs its own " + parallelism + " object.");
        }
        return before != null;
    }
}
