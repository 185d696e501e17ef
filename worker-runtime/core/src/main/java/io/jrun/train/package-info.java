/**
 * Training on libtorch. This package loads the native libraries for all other packages. Entry class:
 * {@code Libtorch}.
 */
@NullMarked
package io.jrun.train;

import org.jspecify.annotations.NullMarked;
