/** {@code jrun image}: the images of containers on this node. */
@NullMarked
package io.jrun.launcher.image;

import org.jspecify.annotations.NullMarked;
