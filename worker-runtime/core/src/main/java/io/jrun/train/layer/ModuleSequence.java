package io.jrun.train.layer;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;

/** Equal modules under the names {@code 0}, {@code 1}, ... */
public final class ModuleSequence<M extends Module> extends CompositeModule {
    private final List<M> modules = new ArrayList<>();

    /** Makes {@code count} modules. */
    public ModuleSequence(long count, Supplier<M> factory) {
        this(count, factory, (_, _) -> {});
    }

    /**
     * Makes {@code count} modules.
     *
     * @param built gets the name of each module and the module, before the next module is made
     */
    public ModuleSequence(long count, Supplier<M> factory, BiConsumer<String, M> built) {
        for (long i = 0; i < count; i++) {
            String name = Long.toString(i);
            M module = add(name, factory.get());
            modules.add(module);
            built.accept(name, module);
        }
    }

    /** The modules in order. */
    public List<M> list() {
        return modules;
    }
}
