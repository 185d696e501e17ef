/**
 * The example program plain-kmeans.jar: a training loop written by hand, with plain Java arrays and jrun's collectives.
 * It needs no libtorch. Entry class: {@code KMeans}.
 */
@NullMarked
package io.jrun.examples.kmeans;

import org.jspecify.annotations.NullMarked;
