package io.jrun.models.transformer;

import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Module;

/** A module that knows the Java objects of its submodules: libtorch gives pointers to them only. */
public class CompositeModule extends Module {
    private final Map<String, Module> children = new LinkedHashMap<>();

    /** A module without parameters, which gives a part of a name to its submodules. */
    public CompositeModule() {}

    /** Registers a module under a name and returns the module. */
    public final <M extends Module> M add(String name, M module) {
        children.put(name, module);
        return register_module(name, module);
    }

    /** All projections below this module, by their dotted names. */
    public final Map<String, Projection> projections() {
        Map<String, Projection> found = new LinkedHashMap<>();
        children.forEach((name, child) -> {
            if (child instanceof Projection projection) {
                found.put(name, projection);
            } else if (child instanceof CompositeModule composite) {
                composite.projections().forEach((inner, projection) -> found.put(name + "." + inner, projection));
            }
        });
        return found;
    }
}
