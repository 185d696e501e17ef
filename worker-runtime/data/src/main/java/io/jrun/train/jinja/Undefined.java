package io.jrun.train.jinja;

/**
 * The value of a name that has none. It is false, has no text and no elements. Any other use is an error.
 *
 * @param name for errors
 */
record Undefined(String name) {}
