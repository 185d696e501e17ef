/**
 * Reads and writes JSON: the headers, indexes and configurations of model files. Entry classes: {@code JsonObject},
 * {@code JsonWriter}.
 */
@NullMarked
package io.jrun.train.json;

import org.jspecify.annotations.NullMarked;
