package io.jrun.train.jinja;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names that an expression sees. The body of a loop or a macro has a scope of its own inside another scope. */
final class Scope {
    private final @Nullable Scope outer;
    private final Budget budget;
    private final Map<String, Object> names;

    private Scope(@Nullable Scope outer, Budget budget, Map<String, Object> names) {
        this.outer = outer;
        this.budget = budget;
        this.names = names;
    }

    /** The outermost scope. */
    static Scope of(Map<String, Object> names, Budget budget) {
        return new Scope(null, budget, names);
    }

    /** A scope inside of this one. */
    Scope inner() {
        return new Scope(this, budget, new HashMap<>());
    }

    /** The value of a name; {@link Undefined} if there is none. */
    Object get(String name) {
        for (Scope scope = this; scope != null; scope = scope.outer) {
            Object value = scope.names.get(name);
            if (value != null) {
                return value;
            }
        }
        return new Undefined(name);
    }

    /** Gives a name a value in this scope. */
    void set(String name, Object value) {
        names.put(name, value);
    }

    /** The limits of the rendering. */
    Budget budget() {
        return budget;
    }
}
