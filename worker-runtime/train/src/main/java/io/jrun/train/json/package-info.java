/** Reads JSON: the headers, indexes and configurations of model files. Entry class: {@code JsonObject}. */
@NullMarked
package io.jrun.train.json;

import org.jspecify.annotations.NullMarked;
