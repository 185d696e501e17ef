/**
 * Reads and writes JSON: the headers, indexes and configurations of model files. Entry classes: {@code JsonObject},
 * {@code JsonWriter}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules.
 */
@NullMarked
package io.jrun.train.json;

import org.jspecify.annotations.NullMarked;
