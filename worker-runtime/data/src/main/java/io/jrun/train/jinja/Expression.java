package io.jrun.train.jinja;

/** An expression of a template. */
@FunctionalInterface
interface Expression {
    /** The value in a scope. */
    Object value(Scope scope);
}
