package io.jrun.train.jinja;

/** A text or a block of a template. */
@FunctionalInterface
interface Statement {
    /** How the execution goes on. */
    enum Flow {
        NEXT,
        BREAK,
        CONTINUE
    }

    /** Writes the output of the statement. */
    Flow run(Scope scope, StringBuilder out);
}
