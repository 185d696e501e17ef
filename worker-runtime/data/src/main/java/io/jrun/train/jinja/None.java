package io.jrun.train.jinja;

/** The value {@code none} of templates: null in JSON. */
enum None {
    NONE
}
