package io.jrun.train.layer;

import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Module;

/** A module that holds the Java objects of its submodules, because libtorch returns only pointers to the submodules. */
public class CompositeModule extends Module {
    private final Map<String, Module> children = new LinkedHashMap<>();

    /** A module without parameters, which gives a part of a name to its submodules. */
    public CompositeModule() {}

    /** Registers a module under a name and returns the module. */
    public final <M extends Module> M add(String name, M module) {
        children.put(name, module);
        return register_module(name, module);
    }

    /** All modules below this module, by their dotted names, each before its own submodules. */
    public final Map<String, Module> descendants() {
        Map<String, Module> found = new LinkedHashMap<>();
        children.forEach((name, child) -> {
            found.put(name, child);
            if (child instanceof CompositeModule composite) {
                composite.descendants().forEach((inner, module) -> found.put(name + "." + inner, module));
            }
        });
        return found;
    }

    /** All modules of a type below this module, by their dotted names. */
    public final <M extends Module> Map<String, M> descendants(Class<M> type) {
        Map<String, M> found = new LinkedHashMap<>();
        descendants().forEach((name, module) -> {
            if (type.isInstance(module)) {
                found.put(name, type.cast(module));
            }
        });
        return found;
    }
}
