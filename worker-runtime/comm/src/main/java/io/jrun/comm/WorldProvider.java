package io.jrun.comm;

/** The entry point of the runtime for {@link Distributed}. Programs use {@link Distributed}. */
public interface WorldProvider {
    /** As {@link Distributed#init()}. */
    World init();

    /** As {@link Distributed#checkEnvironment()}. */
    void checkEnvironment();

    /** As {@link Distributed#rounds()}. */
    Rounds rounds();
}
