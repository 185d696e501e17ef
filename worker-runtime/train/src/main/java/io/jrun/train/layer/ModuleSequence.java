package io.jrun.train.layer;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;

/** Equal modules under the names {@code 0}, {@code 1}, ... */
public final class ModuleSequence<M extends Module> extends CompositeModule {
    private final List<M> modules = new ArrayList<>();

    /** Makes {@code count} modules. */
    public ModuleSequence(long count, Supplier<M> factory) {
        for (long i = 0; i < count; i++) {
            modules.add(add(Long.toString(i), factory.get()));
        }
    }

    /** The modules in order. */
    public List<M> list() {
        return modules;
    }
}
