/**
 * Training on libtorch. This package loads the native libraries: all other packages need it. Entry class: {@code Libtorch}.
 */
@NullMarked
package io.jrun.train;

import org.jspecify.annotations.NullMarked;
