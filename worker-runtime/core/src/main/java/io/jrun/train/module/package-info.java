/** Wraps parts of a model without a change to the model. Entry interface: {@code ModuleWrapper}. */
@NullMarked
package io.jrun.train.module;

import org.jspecify.annotations.NullMarked;
