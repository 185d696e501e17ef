/** Training that continues after the loss of workers. Entry: {@code TrainElastic}. */
@NullMarked
package io.jrun.examples.elastic;

import org.jspecify.annotations.NullMarked;
