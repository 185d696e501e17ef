/**
 * Training on libtorch: what every other package here stands on. {@code Libtorch} brings the native
 * libraries in, {@code TensorMemory} looks at tensors as memory segments and back.
 */
@NullMarked
package io.jrun.train;

import org.jspecify.annotations.NullMarked;
