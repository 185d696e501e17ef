/** Parts of models, to which parallelisms are applied. Entry classes: {@code ModelBlock}, {@code BlockModel}. */
@NullMarked
package io.jrun.train.module;

import org.jspecify.annotations.NullMarked;
