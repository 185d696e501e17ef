package io.jrun.comm;

/** What {@link Distributed} asks of the runtime. Programs use {@link Distributed}. */
public interface WorldProvider {
    /** As {@link Distributed#init()}. */
    World init();

    /** As {@link Distributed#checkEnvironment()}. */
    void checkEnvironment();

    /** As {@link Distributed#rounds()}. */
    Rounds rounds();
}
