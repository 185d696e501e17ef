/**
 * Training on libtorch: what every other package here stands on. {@link io.jrun.train.Libtorch} brings the native
 * libraries in, {@link io.jrun.train.TensorMemory} looks at tensors as memory segments and back.
 */
@NullMarked
package io.jrun.train;

import org.jspecify.annotations.NullMarked;
